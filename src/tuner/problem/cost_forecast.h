// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <span>

#include "attune/problem.h"
#include "core/device_info.h"
#include "core/outcome.h"
#include "core/turn.h"

namespace attune {

/// Rough time to tune one problem, in seconds, used to divide a budget: roofline time of a launch times the launches of
/// a contest with a few dozen candidates, plus the fixed cost of every problem (data, reference, fresh workers).
/// Accurate to a factor of three; never zero.
double expected_cost_s(const Problem& problem, const DeviceInfo& device);

/// Shortest time of one launch, in seconds: the roofline's for the type that is multiplied; for a type without a stated
/// peak, for fp32.
double min_launch_s(const Problem& problem, const DeviceInfo& device);

/// Shortest time until the first candidate of a problem is admitted, in seconds: test data, the two references and the
/// launches of its verification. Later candidates do not need the references.
double min_first_admission_s(const Problem& problem, const DeviceInfo& device);

/// Forecast of the time that the next steps of tuning one problem will take, from the duration of its steps so far;
/// without any, the shortest possible time. In seconds.
class CostForecast {
 public:
  CostForecast(const Problem& problem, const DeviceInfo& device);

  double admission_s() const noexcept;  ///< Time to admit the next candidate that must be verified.
  double turns_s(std::span<const Turn> turns) const;
  double decision_s() const;  ///< Shortest time to sample for a decision, once the candidates are admitted.
  /// Launch time of the fastest candidate sampled so far; before that, of a slow default config.
  double best_launch_s() const noexcept { return best_launch_s_; }
  double whole_s() const noexcept { return whole_s_; }  ///< Rough time for the problem from beginning to end.

  /// Reports the verification of a candidate. The first one includes the references and does not count.
  void admitted(double seconds);
  void sampled(std::span<const Turn> turns, std::span<const Sample> samples);

 private:
  double launch_s(Slot slot) const;
  double any_launch_s() const;

  double first_admission_s_, whole_s_, min_launch_s_, best_launch_s_;
  double admissions_s_ = 0;
  size_t num_admitted_ = 0;
  std::map<Slot, double> launch_s_;  // from the last samples
};

}  // namespace attune
