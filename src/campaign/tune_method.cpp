// SPDX-License-Identifier: MIT
#include "campaign/tune_method.h"

#include <set>

#include "base/error.h"
#include "base/text.h"
#include "compile/triton/user_kernel_folder.h"
#include "search/strategy/strategies.h"
#include "solver/registry.h"
#include "tuner/classic/classic.h"

namespace attune {

double duration_option(std::string_view text, std::string_view flag, bool may_be_zero) {
  if (const auto seconds = parse_duration_s(text); seconds && (*seconds > 0 || may_be_zero)) return *seconds;
  fail(ErrorCode::invalid_input, "{} expects a time such as 30s, 10m or 2h, got '{}'", flag, shown(text));
}

namespace {

/// Returns 0, no limit, for an empty text.
double limit_option(const std::string& text, std::string_view flag) {
  return text.empty() ? 0 : duration_option(text, flag, false);
}

/// Checks library names against the solvers of this build; `all` gives the empty list.
std::vector<std::string> libraries_option(const std::string& text) {
  if (text == "all") return {};
  std::set<std::string> known;
  for (const SolverEntry& entry : registry().entries()) {
    if (entry.solver) known.emplace(first_part(entry.id));
  }
  std::vector<std::string> libraries;
  for (const auto piece : split(text, ',')) {
    const std::string library(trim(piece));
    if (!known.contains(library)) {
      fail(ErrorCode::invalid_input, "--libtype expects all or some of {}, got '{}'",
           join({known.begin(), known.end()}, ","), library);
    }
    libraries.push_back(library);
  }
  return libraries;
}

/// Returns the search procedure's name; a later run reuses only decisions with the same one.
std::string procedure_text(const TuneOptions& options, const TunerOptions& tuner) {
  std::string text = tuner.exhaustive ? fmt::format("exhaustive/1 {}+{}", tuner.warmup, tuner.iters)
                                      : fmt::format("race/6 {}/{}", tuner.strategy.name, tuner.strategy.max_trials);
  if (tuner.contest.max_pairs > 0) text += fmt::format(" pairs<={}", tuner.contest.max_pairs);
  if (options.no_split_k) text += " no-split-k";
  text += tuner.rules.text();
  for (const std::string& kernel : chosen_user_kernels()) text += " kernel=" + kernel;
  return text;
}

void check_options(const TuneOptions& options) {
  static_cast<void>(parse_classic_script(options.classic));
  if (options.err_ratio <= 0)
    fail(ErrorCode::invalid_input,
         "--errRatio must be above 0, because a candidate's errors must stay below it; got {}", options.err_ratio);
  if (parse_requirement(options.require) == Requirement::none) return;
  if (parse_timed_values(options.init_type) != TimedValues::randn)
    fail(ErrorCode::invalid_input,
         "what --require asks is compared on N(0,1), so it cannot be combined with --init_type {}", options.init_type);
  if (options.search == "exhaustive")
    fail(ErrorCode::invalid_input,
         "--search exhaustive measures in one process, and what --require asks is compared between processes");
  if (options.isolation == "none")
    fail(ErrorCode::invalid_input,
         "--isolation none runs one process, and what --require asks is compared between processes");
  if (!options.size_file.empty() || !options.results_file.empty())
    fail(ErrorCode::invalid_input,
         "a YAML results file cannot state what --require asks; tune a CSV list into the table that -o names");
}

}  // namespace

std::vector<std::string> search_names() {
  std::vector<std::string> names = {"race"};
  for (const std::string_view name : strategy_names()) {
    if (name != "auto") names.emplace_back(name);  // It is what `race` means.
  }
  names.emplace_back(kClassicSearch);
  return names;
}

void set_constants(TunerOptions& tuner, const TuneOptions& options, const DeviceKind& kind) {
  static_cast<ContestConstants&>(tuner.contest) = kind.contest;
  tuner.protocol.timing = kind.timing;
  tuner.compiles_beside_measuring = kind.compiles_beside_measuring;
  tuner.load_deadline_s = options.load_deadline_s > 0 ? options.load_deadline_s : kind.load_deadline_s;
  tuner.run_deadline_s = options.run_deadline_s > 0 ? options.run_deadline_s : kind.run_deadline_s;
}

TunerOptions tuner_options(const TuneOptions& options) {
  check_options(options);
  TunerOptions tuner;
  tuner.exhaustive = options.search == "exhaustive";
  tuner.warmup = options.warmup.value_or(tuner.warmup);
  tuner.iters = options.iters;
  tuner.libraries = libraries_option(options.libtype);
  tuner.split_k = !options.no_split_k;
  tuner.rules = parse_rule_choice(options.rules, options.where, registry());
  tuner.retune = options.all;
  if (options.own_after) tuner.own_after = *options.own_after;
  tuner.budget_s = limit_option(options.budget, "--budget");
  tuner.problem_timeout_s = limit_option(options.timeout, "--timeout");
  tuner.protocol.cache = parse_cache_policy(options.inputs);
  tuner.protocol.values = parse_timed_values(options.init_type);
  tuner.protocol.seed = options.seed;
  tuner.protocol.min_gain = options.min_gain_pct / 100;
  tuner.protocol.err_ratio = options.err_ratio;
  tuner.protocol.require = parse_requirement(options.require);
  tuner.contest.min_gain = tuner.protocol.min_gain;
  tuner.contest.seed = options.seed;
  if (options.iters_given && !tuner.exhaustive) tuner.contest.max_pairs = options.iters;
  tuner.strategy.seed = options.seed;
  tuner.strategy.max_trials = options.max_trials;
  if (tuner.exhaustive || options.search == kClassicSearch) {
    tuner.strategy.name = "exhaustive";
    tuner.strategy.max_trials = kAllTrials;
  } else if (options.search != "race") {
    tuner.strategy.name = options.search;
  }
  tuner.protocol.procedure = procedure_text(options, tuner);
  return tuner;
}

std::optional<RowCheckRequest> row_check_request(const TuneOptions& options) {
  if (!options.run_config && !options.benchmark && options.compare_without_tuning.empty()) return std::nullopt;
  RowCheckRequest request{.verify_only = !options.run_config && !options.benchmark,
                          .benchmark = options.benchmark.value_or(""),
                          .devices = options.devices};
  if (options.thread_limits.size() > 1) fail(ErrorCode::invalid_input, "a check takes one number of threads");
  if (!options.thread_limits.empty()) request.devices.threads = options.thread_limits.front();
  request.file = options.run_config                                           ? *options.run_config
                 : options.benchmark || options.compare_without_tuning == "=" ? options.size_file
                                                                              : options.compare_without_tuning;
  if (request.file.empty()) request.file = options.output.empty() ? options.input : options.output;
  if (request.file.empty()) {
    fail(ErrorCode::invalid_input,
         "name the file to check, as in --run_config tuned.csv or --compare_wo_tuning results.yaml");
  }
  return request;
}

}  // namespace attune
