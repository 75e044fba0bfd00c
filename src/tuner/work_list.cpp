// SPDX-License-Identifier: MIT
#include "tuner/work_list.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tuner/problem/cost_forecast.h"

namespace attune {

WorkList::WorkList(std::vector<WorkItem> items, const DeviceInfo& device, bool longest_first)
    : items_(std::move(items)), waiting_(items_.size()), results_(items_.size()) {
  std::iota(waiting_.begin(), waiting_.end(), ProblemId{0});
  for (size_t i = 0; i < items_.size(); ++i) {
    results_[i].problem = items_[i].problem;
    costs_s_.push_back(expected_cost_s(items_[i].problem, device));
  }
  if (longest_first) {
    std::stable_sort(waiting_.begin(), waiting_.end(),
                     [&](ProblemId a, ProblemId b) { return costs_s_[a] > costs_s_[b]; });
  }
  remaining_ = {items_.size(), 0, std::accumulate(costs_s_.begin(), costs_s_.end(), 0.0)};
}

std::optional<WorkSource::Task> WorkList::take() {
  const Lock lock(mutex_);
  if (waiting_.empty()) return std::nullopt;
  const ProblemId id = waiting_.front();
  waiting_.pop_front();
  --remaining_.num_waiting;
  ++remaining_.num_open;
  return Task{id, items_[id]};
}

void WorkList::done(ProblemId id, const TuneResult& result) {
  const Lock lock(mutex_);
  --remaining_.num_open;
  remaining_.cost_s -= costs_s_.at(id);
  results_.at(id) = result;
}

void WorkList::give_back(ProblemId id) {
  const Lock lock(mutex_);
  --remaining_.num_open;
  ++remaining_.num_waiting;
  waiting_.push_front(id);
}

bool WorkList::is_lost(ProblemId id) {
  const Lock lock(mutex_);
  return given_up_.contains(id);
}

WorkSource::Remaining WorkList::remaining() {
  const Lock lock(mutex_);
  return remaining_;
}

void WorkList::give_up(ProblemId id) {
  const Lock lock(mutex_);
  given_up_.insert(id);
}

void WorkList::cut_waiting(const std::string& reason, TuneObserver& observer) {
  while (const auto task = take()) {
    TuneResult result{.problem = task->item.problem, .ending = Ending::cut, .reason = reason};
    done(task->id, result);
    observer.finished(result);
  }
}

std::vector<TuneResult> WorkList::take_results() {
  const Lock lock(mutex_);
  return std::exchange(results_, {});
}

}  // namespace attune
