// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace attune::experiments {

/// Settings of all experiments.
struct Settings {
  bool quick = false;  ///< A smoke run that exercises everything; its figures mean little.
  uint64_t seed = 1;
  /// For `aa` and `slowed`, over all kernels; for `record` samples of a condition, over all shapes; 0: their default.
  size_t num_trials = 0;
  double quiet_wait_s = 45;
  double max_seconds = 0;  ///< `speed` begins no further shape after this time; 0: no limit.
  size_t part = 0,
         num_parts = 1;  ///< Uses every num_parts-th shape from `part` on; parts run concurrently on different cores.
  /// Maximum number of candidates to try per solver in a race; 0: the tuner's default. `regret` uses each value, the
  /// others the first.
  std::vector<uint64_t> max_trials = {0};
  std::vector<std::string> libraries;  ///< Libraries whose solvers compete; empty: all.
  std::string device = "cpu:0";
  std::filesystem::path beside;  ///< The program whose worker prepares candidates beside; empty: none does.
  /// `regret`: the oracle is a race of so many candidates, where measuring all would take days; 0: all are measured.
  uint64_t oracle_trials = 0;
  bool packed = false;           ///< Weights are packed ahead (bpreshuffle=1).
  std::filesystem::path shapes;  ///< An untuned table; default: the shipped list.
  std::filesystem::path noise;   ///< Recorded noise: read by `regret`, written by `record`.
};

/// Results of an experiment: the same figures for docs/performance.md and for scripts.
struct Findings {
  std::string markdown, json;
};

Findings describe_machine(const Settings& settings);
/// Records noise of real kernels of several shapes to `settings.noise`. Takes about 30 s, and 1 s for 400 samples more.
Findings record_noise(const Settings& settings);
/// Compares the race with the exhaustive oracle, on real kernels and on planted times with recorded noise.
Findings measure_regret(const Settings& settings);
/// Measures how often one kernel under two names is called faster.
Findings measure_aa(const Settings& settings);
/// Measures how often a kernel is told apart from itself, slowed by a known fraction.
Findings measure_slowed(const Settings& settings);
/// Tunes the shipped shapes twice and checks for equal winners, none slower than its baseline.
Findings measure_repeat(const Settings& settings);
/// Compares winners of a tuning with oneDNN's default config.
Findings measure_speed(const Settings& settings);

}  // namespace attune::experiments
