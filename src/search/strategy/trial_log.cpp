// SPDX-License-Identifier: MIT
#include "search/strategy/trial_log.h"

#include <algorithm>

namespace attune {

namespace {

bool is_timed(const Trial& trial) { return trial.status == Status::ok && trial.median_us > 0; }

}  // namespace

void TrialLog::add(const Trial& trial) {
  const auto [position, is_new] = positions_.try_emplace(trial.index, trials_.size());
  const bool was_best =
      !is_new && best_us_ && is_timed(trials_[position->second]) && trials_[position->second].median_us == *best_us_;
  if (is_new) {
    trials_.push_back(trial);
  } else {
    num_timed_ -= is_timed(trials_[position->second]) ? 1 : 0;
    trials_[position->second] = trial;
  }
  num_timed_ += is_timed(trial) ? 1 : 0;
  if (was_best) best_us_.reset();
  for (const Trial& one : was_best ? std::span<const Trial>(trials_) : std::span(&trial, 1)) {
    if (is_timed(one)) best_us_ = std::min(best_us_.value_or(one.median_us), one.median_us);
  }
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
