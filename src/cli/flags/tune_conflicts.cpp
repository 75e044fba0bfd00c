// SPDX-License-Identifier: MIT
#include "cli/flags/tune_conflicts.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "base/error.h"
#include "campaign/tune_method.h"

namespace attune {
namespace {

/// `flag` cannot be combined with `other`.
struct Conflict {
  const char *flag, *other, *why;
};
constexpr Conflict kConflicts[] = {
    {"--trans_a", "--gemm_size_file", "the file states the order of each size (rowMajorA)"},
    {"--col_a", "--gemm_size_file", "the file states the order of each size (rowMajorA)"},
    {"--trans_b", "--gemm_size_file", "the file states the order of each size (rowMajorB)"},
    {"--col_b", "--gemm_size_file", "the file states the order of each size (rowMajorB)"},
    {"--op", "--gemm_size_file", "such a file always holds sizes of gemm_a16w16"},
    {"--tuning_results_file", "--untune_file", "the winners of a CSV list go to the table that -o names"},
    {"--run_config", "--compare_wo_tuning", "give one of them"},
    {"--benchmark", "--compare_wo_tuning", "give one of them"},
    {"--benchmark", "--run_config", "give one of them"},
    {"--bias", "--model_dir", "the model's config.json states which products have one"},
    {"--trans_a", "--model_dir", "a model's weights are N×K and its x is M×K"},
    {"--col_a", "--model_dir", "a model's weights are N×K and its x is M×K"},
    {"--trans_b", "--model_dir", "a model's weights are N×K and its x is M×K"},
    {"--col_b", "--model_dir", "a model's weights are N×K and its x is M×K"},
    {"--tuning_results_file", "--model_dir", "the winners go to the table that -o names"},
    {"--col_a", "--trans_a", "both state the order of x"},
    {"--col_b", "--trans_b", "both state the order of the weights"},
    {"--no-splitK", "--splitK", "one skips the candidates that the other asks for"},
    {"--method", "--search", "it is another name of --search classic"},
    {"--candidate-timeout", "--run-deadline", "it sets that deadline, too"},
    {"--candidate-timeout", "--load-deadline", "it sets that deadline, too"},
};

/// `flag` has no effect without one of `others`.
struct Need {
  const char* flag;
  std::array<const char*, 4> others;
  const char* why;
};
constexpr Need kNeeds[] = {
    {"--tp", {"--model_dir"}, "it applies to a model only, name one with --model_dir"},
    {"--nsets", {"--model_dir"}, "it applies to a model only, name one with --model_dir"},
    {"--sequences", {"--model_dir"}, "it applies to a model only, name one with --model_dir"},
    {"--min_improvement_pct", {"--update_improved"}, "it is the threshold of --update_improved"},
    {"--benchmark", {"--gemm_size_file"}, "name the YAML results to time with --gemm_size_file"},
    {"--sort", {"--tune_file", "--config-dir", "--untune_file"}, "there is no table to sort, name one with -o"},
    {"--update_improved", {"--tune_file", "--config-dir", "--untune_file"}, "there is no table, name one with -o"},
};

/// Flags that have an effect when rows are checked and nothing is tuned.
constexpr const char* kOfChecks[] = {
    "--run_config", "--compare_wo_tuning", "--benchmark", "--gemm_size_file", "--untune_file", "--tune_file", "--op",
    "--devices",    "--threads",           "--inputs",    "--quiet-wait",     "--json",        "--help"};

/// Flags of the race, the journal and tables, which a classic search lacks.
constexpr const char* kNotOfClassic[] = {"--tune_file",       "--journal", "--profile_file", "--keep",    "--sort",
                                         "--update_improved", "--batch",   "--all",          "--workers", "--mp",
                                         "--budget",          "--timeout", "--max-trials",   "--warmup",  "--iters",
                                         "--min-gain",        "--require", "--inputs"};

/// Flags that name shapes, tables to check, or a folder with lists of shapes; without any of them, and without an
/// output, there is nothing to tune.
constexpr const char* kOfInputs[] = {"--untune_file", "--gemm_size_file",    "--model_dir", "--config-dir",
                                     "--run_config",  "--compare_wo_tuning", "--tune_file", "--op"};

bool given(const CLI::App& command, const char* flag) {
  return flag != nullptr && command.get_option(flag)->count() > 0;
}

void refuse_for_classic(const CLI::App& command) {
  for (const char* flag : kNotOfClassic) {
    if (given(command, flag))
      fail(
          ErrorCode::invalid_input,
          "{} cannot be combined with --search classic, which measures every candidate as the script did and writes no "
          "table and no journal",
          flag);
  }
}

}  // namespace

void refuse_conflicts(const CLI::App& command, const TuneOptions& options) {
  if (!is_single_size(options) &&
      std::none_of(std::begin(kOfInputs), std::end(kOfInputs), [&](const char* flag) { return given(command, flag); }))
    fail(ErrorCode::invalid_input,
         "name the shapes to tune: a list with -i FILE, a model with --model_dir FOLDER, or one size with -m M -n N -k "
         "K; see attune tune --help");
  for (const auto& [flag, other, why] : kConflicts) {
    if (given(command, flag) && given(command, other))
      fail(ErrorCode::invalid_input, "{} cannot be combined with {}: {}", flag, other, why);
  }
  for (const auto& [flag, others, why] : kNeeds) {
    const bool met = std::any_of(others.begin(), others.end(), [&](const char* one) { return given(command, one); });
    if (given(command, flag) && !met) fail(ErrorCode::invalid_input, "{} has no effect: {}", flag, why);
  }
  if (options.search == kClassicSearch)
    refuse_for_classic(command);
  else if (given(command, "--classic"))
    fail(ErrorCode::invalid_input, "--classic has no effect: it is the version of the script for --search classic");
  if (given(command, "--max-trials") && command.get_option("--search")->as<std::string>() == "exhaustive")
    fail(ErrorCode::invalid_input,
         "--max-trials cannot be combined with --search exhaustive, which measures all candidates");
  if (given(command, "--candidate-timeout") && command.get_option("--isolation")->as<std::string>() == "none")
    fail(ErrorCode::invalid_input,
         "--candidate-timeout cannot be combined with --isolation none: only a candidate in a worker process can be "
         "stopped");
  if (!given(command, "--run_config") && !given(command, "--compare_wo_tuning") && !given(command, "--benchmark"))
    return;
  for (const CLI::Option* option : command.get_options()) {
    const bool fits = std::any_of(std::begin(kOfChecks), std::end(kOfChecks),
                                  [&](const char* name) { return option->check_name(name); });
    if (option->count() > 0 && !fits)
      fail(ErrorCode::invalid_input, "{} cannot be combined with a check of rows, which tunes nothing",
           option->get_name());
  }
}

}  // namespace attune
