// SPDX-License-Identifier: MIT
#include "cli/ci/ci_run.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/file.h"
#include "base/line_output.h"
#include "base/locations.h"
#include "campaign/tune_inputs.h"
#include "cli/ci/tune_arguments.h"
#include "cli/flags/arguments.h"
#include "cli/flags/value_checks.h"
#include "pipeline/run/argument_text.h"
#include "pipeline/run/chosen_families.h"
#include "pipeline/run/git_history.h"
#include "pipeline/run/pipeline_run.h"
#include "pipeline/run/shape_choice.h"
#include "store/journal.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

struct CiRunOptions {
  std::string shapes, arguments, only, since, config_dir, folder = "ci-results", journal;
  double max_regression_pct = 2;
  bool json = false;
};

std::filesystem::path config_dir_of(const CiRunOptions& options) {
  if (!options.config_dir.empty()) return options.config_dir;
  check_access(config_location());
  return config_location().path;
}

/// Leaves of each list the shapes that `--only` wants. A list or table that cannot be read is its family's failure,
/// later.
void choose_shapes(const CiRunOptions& options, const std::filesystem::path& config_dir, std::vector<FamilyRun>& runs) {
  const ShapeChoice choice = parse_shape_choice(options.only, options.since);
  if (choice.is_of_all()) return;
  std::optional<GitHistory> history;
  if (choice.changed) history.emplace(config_dir, choice.since);
  for (FamilyRun& run : runs) {
    StaleCheck is_stale;
    if (choice.stale) is_stale = [&](const std::vector<Problem>& all) { return stale_shapes(run, config_dir, all); };
    try {
      run.chosen_rows = chosen_rows(*run.family, run.tune.input, history ? &*history : nullptr, is_stale).value_or("");
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_input) throw;
    }
  }
}

/// Finds everything that can be wrong with the inputs, before anything is written. Families that are skipped come last.
std::vector<FamilyRun> family_runs(const CiRunOptions& options, const std::filesystem::path& config_dir) {
  const ChosenFamilies chosen = choose_families(options.shapes, config_dir);
  const std::vector<std::string> arguments = split_arguments(options.arguments);
  std::vector<FamilyRun> runs;
  for (const ChosenFamily& one : chosen.families) {
    FamilyRun run{one.family, tune_arguments(*one.family, one.shapes, config_dir, arguments)};
    if (!options.journal.empty()) run.tune.journal = options.journal;
    static_cast<void>(measuring_device(run));
    check_output(config_dir / one.family->default_file);
    runs.push_back(std::move(run));
  }
  choose_shapes(options, config_dir, runs);
  print_notes(chosen.notices);
  for (const SkippedFamily& one : chosen.skipped)
    runs.push_back({.family = one.family, .tune = {.journal = options.journal}, .reason_skipped = one.reason});
  const std::filesystem::path journal = journal_file(runs.front().tune.journal);
  // A journal that is not there yet is not made before all is known to be right.
  if (std::filesystem::exists(std::filesystem::symlink_status(journal))) static_cast<void>(open_sql_journal(journal));
  return runs;
}

ordered_json inputs_of(const CiRunOptions& options, const std::filesystem::path& config_dir,
                       const std::vector<FamilyRun>& runs) {
  ordered_json families = ordered_json::array();
  for (const FamilyRun& run : runs) families.push_back(run.family->op);
  const ordered_json inputs = {{"shapes", families},
                               {"arguments", split_arguments(options.arguments)},
                               {"only", options.only},
                               {"since", options.since},
                               {"config_dir", std::filesystem::absolute(config_dir).lexically_normal().string()},
                               {"max_regression_pct", options.max_regression_pct}};
  // A folder's name need not be UTF-8, and JSON is.
  return ordered_json::parse(inputs.dump(-1, ' ', false, ordered_json::error_handler_t::replace));
}

/// For each family the device on which it is measured, as text that no other device has.
ordered_json devices_of(const std::vector<FamilyRun>& runs) {
  ordered_json devices = ordered_json::object();
  for (const FamilyRun& run : runs) {
    if (!run.reason_skipped.empty()) continue;
    const DeviceInfo device = measuring_device(run);
    devices[std::string(run.family->op)] = fmt::format("{} ({})", device.key(), device.fingerprint());
  }
  return devices;
}

int run_ci(const CiRunOptions& options) {
  const std::filesystem::path config_dir = config_dir_of(options);
  const std::vector<FamilyRun> runs = family_runs(options, config_dir);
  const ordered_json inputs = inputs_of(options, config_dir, runs);
  RunFolder folder(options.folder, config_dir, inputs, devices_of(runs));
  ChangeOptions change;
  change.max_regression = options.max_regression_pct / 100;
  const RunResults results = run_pipeline(runs, folder, change, inputs);
  const std::string text = read_file(folder.file(options.json ? RunFolder::kResults : RunFolder::kSummary));
  std::fputs(text.c_str(), stdout);
  return results.status;
}

}  // namespace

void add_ci_run_flags(CLI::App& command, std::function<int()>& chosen) {
  auto options = std::make_shared<CiRunOptions>();
  command.add_option("--shapes", options->shapes,
                     "Families to tune, with commas between them; the prefix ck_ of older jobs is accepted. Default: "
                     "all that have a list of shapes in the configuration folder");
  command.add_option("--arguments", options->arguments,
                     "Flags of `attune tune` for every family, in one text: \"--budget 10m --max-m 64\". Quotes keep "
                     "blanks; no shell reads it");
  for (const char* flag : {"--shapes", "--arguments"}) command.get_option(flag)->type_name(kTextOrNothing);
  command.add_option("--only", options->only,
                     "Shapes to tune of each list: changed (since the merge base with the remote's default branch, or "
                     "--since), stale (no row serves them, or their own row's versions are void or its kernel is "
                     "banned), or both with a comma");
  command.add_option("--since", options->since,
                     "Commit since which --only changed looks, such as that of the last run");
  command.add_option(
      "--config-dir", options->config_dir,
      "Folder of the families' lists of shapes and tables, which are written; default: the configuration "
      "folder (see `attune paths`)");
  command
      .add_option("-o,--output", options->folder,
                  "Folder for the results. An unfinished run there, with equal inputs, is gone on with")
      ->capture_default_str();
  command.add_option("--journal", options->journal, "Journal file; default: see `attune paths`");
  command
      .add_option("--max-regression", options->max_regression_pct,
                  "Percent by which a shape may become slower and count as the same")
      ->capture_default_str()
      ->check(amounts(0.1, 1000));
  add_json_flag(command, options->json);
  command.footer(
      "For each family: validate the tables, time the shapes as they are served, tune and publish, list the rows that\n"
      "changed, compare the times before and after (docs/ci.md). A family whose tables cannot be read is listed, and "
      "the\n"
      "others go on. The exit status is 1 if a family failed or a shape became slower, 3 if this machine failed.");
  command.callback([options, &chosen] { chosen = [options] { return run_ci(*options); }; });
}

}  // namespace attune
