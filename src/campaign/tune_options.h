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

namespace attune {

/// Returns the set variables that change how libraries perform and that workers see (recorded_settings()), such as
/// `BLIS_ARCH_TYPE=3`. Call it before the first registry(), which sets some of them.
std::vector<std::string> library_variables();

/// Options of `attune tune` as plain data. The defaults are those of the older tuners (docs/cli.md).
struct TuneOptions {
  // Shapes to tune.
  std::string input;      ///< `-i`
  std::string size_file;  ///< `--gemm_size_file`
  ModelOptions model;
  std::vector<Problem> problems;           ///< Shapes of the family `op` that a program passes as values, each once.
  std::vector<AttributeSetting> settings;  ///< `-m`, `--act` …: sizes of one problem, or values for all of a list.
  std::string op;
  std::optional<int64_t> max_m;  ///< Limit of the rows of a problem, whatever its family calls them.
  bool all = false;
  /// With `all`: the journal's entry at which the run began that this call goes on with. What it holds from there on is
  /// the run's own and not made again. Nothing: all is.
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
  /// Told each line of progress that is printed where standard error is no terminal; empty: nobody is.
  std::function<void(const std::string& line)> on_progress;
  // Method.
  DeviceChoice devices;
  /// `--threads 1,2`: one run for each. Empty: one for each limit under which the shapes of `input` were captured, with
  /// the shapes of that limit, else one for devices.threads.
  std::vector<int64_t> thread_limits;
  /// Limits under which the shapes of `input` were captured, of which only those of the device's own are tuned; null:
  /// all shapes. Outlives these options.
  const CapturedLimits* captured_limits = nullptr;
  /// Those that the user set: read when the options are made, before a registry sets some.
  std::vector<std::string> variables = library_variables();
  std::string libtype = "all", search = "race", inputs = "served", journal, isolation = "process";
  bool no_split_k = false, compare = false;
  std::string compare_without_tuning;
  std::optional<std::string> run_config;
  std::string require;  ///< `--require`, as parse_requirement() reads it.
  double err_ratio = 0.05, min_gain_pct = 0.5;
  std::optional<uint32_t> warmup;
  uint32_t iters = 101;
  bool iters_given = false;
  uint64_t max_trials = 96, seed = 0;
  std::string budget, timeout;
  double load_deadline_s = 0, run_deadline_s = 0;  ///< 0: those of the device's kind.
  double quiet_wait_s = 45;
  int64_t mp = 0;       ///< Devices to tune on at once: the first so many; 0: all.
  int64_t workers = 0;  ///< Worker processes of each device; 0: as many as its kind has.
};

/// Whether the options name one problem by its sizes.
inline bool is_single_size(const TuneOptions& options) { return has_sizes(options.settings); }

}  // namespace attune
