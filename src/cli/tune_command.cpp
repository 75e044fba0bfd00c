// SPDX-License-Identifier: MIT
#include <CLI/CLI.hpp>

#include "attune/problem.h"
#include "base/error.h"
#include "base/text.h"
#include "campaign/campaign.h"
#include "campaign/classic/classic_run.h"
#include "campaign/tune_method.h"
#include "campaign/tune_options.h"
#include "cli/check_options.h"
#include "cli/command.h"
#include "cli/flags/flag_list.h"
#include "cli/flags/tune_conflicts.h"
#include "cli/flags/tune_flags.h"

namespace attune {
namespace {

/// Options of `attune check` for its older names, `--run_config` and `--compare_wo_tuning`.
CheckOptions check_options(const RowCheckRequest& request, const TuneOptions& options) {
  CheckOptions check{.table = request.file,
                     .op = options.op,
                     .verify_only = request.verify_only,
                     .json = options.json,
                     .benchmark = request.benchmark};
  check.run.devices = request.devices;
  check.run.journal = options.journal;
  check.run.inputs = options.inputs;
  check.run.quiet_wait_s = options.quiet_wait_s;
  check.run.load_deadline_s = options.load_deadline_s;
  check.run.run_deadline_s = options.run_deadline_s;
  return check;
}

/// Takes the text of a problem as if --op and flags had stated it.
void take_problem(TuneOptions& options, const std::string& text) {
  const Problem problem = Problem::parse(text);
  if (!options.op.empty())
    fail(ErrorCode::invalid_input, "--op cannot be combined with a problem, which names its op: '{}'",
         shown(text, 500));
  for (const auto& [attribute, value] : problem.attributes()) {
    if (const AttributeSetting* other = find_setting(options.settings, attribute))
      fail(ErrorCode::invalid_input, "{} cannot be combined with a problem that states {}: '{}'", other->flag,
           attribute, shown(text, 500));
    options.settings.push_back({attribute, value, attribute});
  }
  options.op = family_option(problem.op())->op;
}

int run_tune(const TuneOptions& options) {
  static_cast<void>(tuner_options(options));  // Refuses bad options of checks as well.
  if (const auto request = row_check_request(options)) return run_check(check_options(*request, options));
  if (options.search == kClassicSearch) return run_classic(options);
  return run_campaigns(options);
}

void add_flags(CLI::App& command, Action& chosen) {
  auto options = std::make_shared<TuneOptions>();
  add_tune_flags(command, *options);
  const auto problem = std::make_shared<std::string>();
  command
      .add_option("problem", *problem,
                  "One problem, such as \"gemm_a8w8 m=16 n=1024 k=1024\"; the same as --op and the flags of its size")
      ->group("What to tune");
  command.footer(
      "Examples:\n"
      "  attune tune -i untuned.csv -o tuned.csv --max-m 64 --budget 10m\n"
      "  attune tune --gemm_size_file sizes.yaml --tuning_results_file out.yaml --compare\n"
      "  attune tune --model_dir Llama-3.1-8B --tp 8 --nsets 1,512 -o tuned.csv --budget 1h\n"
      "  attune tune -m 128 -n 1536 -k 7168 --dtype fp32 --act gelu --json\n"
      "  attune tune \"gemm_a8w8 m=16 n=1536 k=7168\"\n"
      "Flags of older tuners that are refused, and why: attune tune --help-all");
  const auto lists_flags = std::make_shared<bool>(false);
  command.add_flag(kListFlags, *lists_flags, "Print the flags of this command as JSON, for programs that start it")
      ->group("Results");
  command.callback([options, problem, lists_flags, &command, &chosen] {
    if (*lists_flags) {
      chosen = [&command] {
        print_flags(command);
        return 0;
      };
      return;
    }
    if (command.get_option("problem")->count() > 0) take_problem(*options, *problem);
    refuse_conflicts(command, *options);
    chosen = [options] { return run_tune(*options); };
  });
}

}  // namespace

Command tune_command() {
  return {CommandGroup::tune, "tune", "Find the fastest correct kernel for each shape and publish the table",
          add_flags};
}

}  // namespace attune
