// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "campaign/captured_limits.h"
#include "campaign/devices/open_devices.h"
#include "formats/model_config/model_options.h"
#include "ops/attribute_setting.h"
#include "solver/static/rule_choice.h"

namespace attune {

/// Returns the set environment variables that change how libraries perform and that workers see (recorded_settings()),
/// such as `BLIS_ARCH_TYPE=3`. Call it before the first registry(), which sets some of them.
std::vector<std::string> library_variables();

/// Options of `attune tune` as plain data. They have the same defaults as the older tuners (docs/cli.md).
struct TuneOptions {
  // Shapes to tune.
  std::string input;      ///< `-i`
  std::string size_file;  ///< `--gemm_size_file`
  ModelOptions model;
  std::vector<Problem> problems;           ///< Shapes of the family `op` that a program passes as values, each once.
  std::vector<AttributeSetting> settings;  ///< `-m`, `--act` …: sizes of one problem, or values for a whole list.
  std::string op;
  std::optional<int64_t> max_m;  ///< Limit of the rows of a problem, under any name that its family uses.
  bool all = false;
  /// With `all`: the journal entry at which the resumed run began. Later entries belong to that run and are reused.
  /// Nothing: no result is reused.
  std::optional<int64_t> own_after;
  // Outputs.
  std::string output;        ///< `-o`
  std::string results_file;  ///< `--tuning_results_file`
  std::string profile_file;  ///< `-o2`
  std::string config_dir, keep_dir;
  KernelOptions kernels;  ///< `keep` follows keep_dir.
  bool sort = false;
  bool update_improved = false;
  double min_improvement_pct = 3.0;
  int64_t batch = 100;
  bool json = false, verbose = false;
  /// Receives each line of progress that is printed where standard error is no terminal. Empty: no receiver.
  std::function<void(const std::string& line)> on_progress;
  // Method.
  DeviceChoice devices;
  /// `--threads 1,2`: one run for each. Empty: one run for each limit under which the shapes of `input` were captured,
  /// with the shapes of that limit; without such limits, one run for devices.threads.
  std::vector<int64_t> thread_limits;
  /// Limits under which the shapes of `input` were captured. Only shapes of the device's own limit are tuned. Null: all
  /// shapes. Must outlive these options.
  const CapturedLimits* captured_limits = nullptr;
  /// Variables that the user set. Read when the options are made, before a registry sets some.
  std::vector<std::string> variables = library_variables();
  std::string libtype = "all", search = "race", inputs = "served", init_type = "randn", journal, isolation = "process";
  std::string classic = "v3.4";        ///< `--classic`, for the search `classic`.
  std::string rules{kDefaultRuleSet};  ///< `--rules`
  std::vector<std::string> where;      ///< `--where`, each `SOLVER: EXPRESSION`.
  bool no_split_k = false, compare = false;
  std::string compare_without_tuning;
  std::optional<std::string> run_config;
  std::optional<std::string> benchmark;  ///< `--benchmark`: file of the times, `-`: standard output.
  std::string require;                   ///< `--require`, as parse_requirement() reads it.
  double err_ratio = 0.05, min_gain_pct = 0.5;
  std::optional<uint32_t> warmup;
  uint32_t iters = 101;
  bool iters_given = false;
  uint64_t max_trials = 96, seed = 0;  ///< kAllTrials: every candidate that the rules allow.
  std::string budget, timeout;
  double load_deadline_s = 0, run_deadline_s = 0;  ///< 0: the deadlines of the device's kind.
  double quiet_wait_s = 45;
  int64_t mp = 0;       ///< Number of devices to tune on at once, from the first; 0: all.
  int64_t workers = 0;  ///< Worker processes of each device; 0: the default of its kind.
};

/// Whether the options name one problem by its sizes.
inline bool is_single_size(const TuneOptions& options) { return has_sizes(options.settings); }

}  // namespace attune
