// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "search/strategy/trial.h"

namespace attune {

/// The trials of one solver's search, the newest of each index. A value; not thread-safe.
class TrialLog {
 public:
  /// `expected`: the costs until a trial says better.
  explicit TrialLog(Costs expected = {}) : expected_(expected) {}
  /// Adds a trial, or replaces that of the same index. O(1), and O(trials) where the best one gets slower.
  void add(const Trial& trial);
  /// In the order in which their indices were first added.
  std::span<const Trial> trials() const noexcept { return trials_; }
  /// Smallest median of the trials that are ok and timed; none without one.
  std::optional<double> best_us() const noexcept { return best_us_; }
  size_t num_timed() const noexcept { return num_timed_; }  ///< Trials that are ok and timed.
  /// Mean costs of the trials whose cost is known, each of the two alone. O(trials).
  Costs costs() const;

 private:
  Costs expected_;
  std::vector<Trial> trials_;
  std::unordered_map<uint64_t, size_t> positions_;  ///< In trials_, by index.
  std::optional<double> best_us_;
  size_t num_timed_ = 0;
};

}  // namespace attune
