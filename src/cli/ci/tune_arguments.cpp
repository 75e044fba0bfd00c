// SPDX-License-Identifier: MIT
#include "cli/ci/tune_arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <vector>

#include "base/error.h"
#include "campaign/tune_method.h"
#include "cli/flags/argument_error.h"
#include "cli/flags/arguments.h"
#include "cli/flags/tune_conflicts.h"
#include "cli/flags/tune_flags.h"

namespace attune {
namespace {

/// Flags that name shapes, or results of one family, which a run names itself.
constexpr const char* kOfTheRun[] = {"--untune_file",  "--tune_file",  "--config-dir",          "--op",
                                     "--model_dir",    "--run_config", "--gemm_size_file",      "--json",
                                     "--profile_file", "--keep",       "--tuning_results_file", "--compare_wo_tuning",
                                     "--compare"};

/// A command line of `attune tune` that was parsed.
class ParsedTune {
 public:
  explicit ParsedTune(std::span<const std::string> arguments) {
    add_tune_flags(command_, options_);
    apply_common_rules(app_);
    std::vector<std::string> line = {"tune"};
    for (std::string& one : rewrite_arguments({arguments.begin(), arguments.end()})) line.push_back(std::move(one));
    std::reverse(line.begin(), line.end());  // CLI11 reads them from the back.
    try {
      app_.parse(std::move(line));
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) fail(ErrorCode::invalid_input, "the arguments cannot ask for help");
      fail(ErrorCode::invalid_input, "{}; see attune tune --help", argument_error(app_, error));
    }
  }
  ParsedTune(const ParsedTune&) = delete;
  ParsedTune& operator=(const ParsedTune&) = delete;

  const CLI::App& command() const noexcept { return command_; }
  const TuneOptions& options() const noexcept { return options_; }

 private:
  TuneOptions options_;
  CLI::App app_{"", "attune"};
  CLI::App& command_ = *app_.add_subcommand("tune");
};

void refuse_flags_of_the_run(const ParsedTune& given) {
  for (const char* flag : kOfTheRun) {
    if (given.command().get_option(flag)->count() > 0)
      fail(ErrorCode::invalid_input, "the arguments cannot have {}: the run names shapes and results itself", flag);
  }
  if (const auto& settings = given.options().settings; !settings.empty())
    fail(ErrorCode::invalid_input,
         "the arguments cannot have {}, which would replace a column of the lists of shapes: write the value into that "
         "column of the lists",
         settings.front().flag);
  if (given.options().thread_limits.size() > 1)
    fail(ErrorCode::invalid_input, "the arguments can have one number of --threads, run once for each");
}

}  // namespace

TuneOptions tune_arguments(const FamilySpec& family, const std::filesystem::path& shapes,
                           const std::filesystem::path& config_dir, std::span<const std::string> arguments) {
  try {
    refuse_flags_of_the_run(ParsedTune(arguments));
    std::vector<std::string> line = {"--op",          std::string(family.op),
                                     "--untune_file", shapes.string(),
                                     "--tune_file",   (config_dir / family.default_file).string(),
                                     "--config-dir",  config_dir.string()};
    line.insert(line.end(), arguments.begin(), arguments.end());
    const ParsedTune parsed(line);
    refuse_conflicts(parsed.command(), parsed.options());
    static_cast<void>(tuner_options(parsed.options()));
    return parsed.options();
  } catch (Error& error) {
    error.add_context(fmt::format("--arguments, for {}", family.op));
    throw;
  }
}

}  // namespace attune
