// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "store/journal.h"
#include "tuner/tuner.h"

namespace attune {

/// Gives all rows of a weight one config (`--require batch-invariant`); such rows differ in M alone. Among the
/// batch-invariant candidates that were timed in every row, it takes the one with the least product of times. Rows with
/// another winner are decided again, with that config alone. A config that fails in a row is rejected.
class WeightConfigs {
 public:
  /// `how`, `items`: the options and items of the run; `how.budget_s` is the budget of settle(). The devices and all
  /// arguments outlive this.
  WeightConfigs(std::vector<TuningDevice> devices, TunerOptions how, std::span<const WorkItem> items,
                TuneObserver& observer, Clock& clock = steady_clock())
      : devices_(std::move(devices)), how_(std::move(how)), items_(items), observer_(observer), clock_(clock) {}

  /// Changes the decisions of the results. A row that cannot be decided with the config of its weight loses its
  /// decision and gets the reason. Nothing is measured once the budget is spent. Throws what Tuner::run() throws.
  void settle(std::vector<TuneResult>& results, const std::atomic<bool>& interrupted);
  const std::vector<std::string>& notices() const noexcept { return notices_; }

 private:
  using Rows = std::vector<TuneResult*>;
  void settle_weight(const Rows& rows, const std::atomic<bool>& interrupted);
  std::vector<std::map<Candidate, double>> times(const Rows& rows, const std::atomic<bool>& interrupted) const;
  bool decide_with(const Candidate& chosen, const Rows& rows, const std::atomic<bool>& interrupted);
  bool is_budget_spent() const { return how_.budget_s > 0 && clock_.now_s() >= end_s_; }

  std::vector<TuningDevice> devices_;
  TunerOptions how_;
  std::span<const WorkItem> items_;
  TuneObserver& observer_;
  Clock& clock_;
  double end_s_ = 0;  // End of the budget on the clock, if there is one.
  std::vector<std::string> notices_;
};

}  // namespace attune
