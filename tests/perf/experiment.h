// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace attune::experiments {

/// What all experiments are told.
struct Settings {
  bool quick = false;  ///< A smoke run: everything is exercised, no figure means much.
  uint64_t seed = 1;
  size_t num_trials = 0;  ///< Of `aa` and `slowed`, over all kernels; 0: their default.
  double quiet_wait_s = 45;
  size_t part = 0,
         num_parts = 1;  ///< Every num_parts-th shape from `part` on: parts run beside each other on other cores.
  /// Asks of a solver at most, in a race; 0: the tuner's default. `regret` takes each, the others the first.
  std::vector<uint64_t> max_trials = {0};
  std::vector<std::string> libraries;  ///< Whose solvers compete; empty: all.
  bool packed = false;                 ///< Weights packed ahead (bpreshuffle=1).
  std::filesystem::path shapes;        ///< The shipped list, an untuned table.
  std::filesystem::path noise;         ///< Recorded noise: read by `regret`, written by `record`.
};

/// What an experiment found: the same figures for docs/performance.md and for scripts.
struct Findings {
  std::string markdown, json;
};

Findings describe_machine(const Settings& settings);
/// Records noise of real kernels to `settings.noise`. About 20 s.
Findings record_noise(const Settings& settings);
/// The race against the exhaustive oracle: on real kernels, and on planted times with recorded noise.
Findings measure_regret(const Settings& settings);
/// One kernel under two names: how often is one called faster?
Findings measure_aa(const Settings& settings);
/// A kernel against itself slowed by a known fraction: how often is it told apart?
Findings measure_slowed(const Settings& settings);
/// Two complete tunings of the shipped shapes: same winners, and none slower than its default?
Findings measure_repeat(const Settings& settings);
/// Winners of a tuning against oneDNN's default.
Findings measure_speed(const Settings& settings);

}  // namespace attune::experiments
