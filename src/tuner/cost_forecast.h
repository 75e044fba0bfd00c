// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <span>

#include "attune/problem.h"
#include "core/device_info.h"
#include "core/outcome.h"
#include "core/turn.h"

namespace attune {

/// What the next steps of tuning one problem will take, by what its steps have taken so far; before there are any, the
/// least they can take (tuner/expected_cost.h). Seconds.
class CostForecast {
 public:
  CostForecast(const Problem& problem, const DeviceInfo& device);

  double admission_s() const noexcept;  ///< Of the next candidate that must be verified.
  double turns_s(std::span<const Turn> turns) const;
  double decision_s() const;  ///< The least that samples of a decision take, once candidates are admitted.
  /// Of the fastest candidate sampled so far; before there is one, a slow default's.
  double best_launch_s() const;
  double whole_s() const noexcept { return whole_s_; }  ///< The problem from beginning to end, roughly.

  /// A candidate was verified. The first one bears the references and does not count.
  void admitted(double seconds);
  void sampled(std::span<const Turn> turns, std::span<const Sample> samples);

 private:
  double launch_s(Slot slot) const;
  double any_launch_s() const;

  double first_admission_s_, whole_s_, least_launch_s_;
  double admissions_s_ = 0;
  size_t num_admitted_ = 0;
  std::map<Slot, double> launch_s_;  // As sampled last.
};

}  // namespace attune
