// SPDX-License-Identifier: MIT
#include "search/strategy/trial_log.h"

#include <algorithm>

namespace attune {

void TrialLog::add(const Trial& trial) {
  const auto [position, is_new] = positions_.try_emplace(trial.index, trials_.size());
  if (is_new)
    trials_.push_back(trial);
  else
    trials_[position->second] = trial;
}

std::optional<double> TrialLog::best_us() const {
  std::optional<double> best;
  for (const Trial& trial : trials_) {
    if (trial.status != Status::ok || trial.median_us <= 0) continue;
    best = std::min(best.value_or(trial.median_us), trial.median_us);
  }
  return best;
}

Costs TrialLog::costs() const {
  const auto mean_s = [&](double Trial::*seconds, double expected_s) {
    double sum_s = 0, count = 0;
    for (const Trial& trial : trials_) {
      sum_s += trial.*seconds;
      count += trial.*seconds > 0;
    }
    return count > 0 ? sum_s / count : expected_s;
  };
  return {mean_s(&Trial::prepare_s, expected_.prepare_s), mean_s(&Trial::timing_s, expected_.timing_s)};
}

}  // namespace attune
