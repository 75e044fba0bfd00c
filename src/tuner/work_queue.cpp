// SPDX-License-Identifier: MIT
#include "tuner/work_queue.h"

#include <algorithm>
#include <numeric>

namespace attune {

WorkQueue::WorkQueue(std::vector<double> costs_s, bool longest_first)
    : costs_s_(std::move(costs_s)), waiting_(costs_s_.size()), num_left_(costs_s_.size()) {
  std::iota(waiting_.begin(), waiting_.end(), size_t{0});
  if (longest_first) {
    std::stable_sort(waiting_.begin(), waiting_.end(), [&](size_t a, size_t b) { return costs_s_[a] > costs_s_[b]; });
  }
  cost_left_s_ = std::accumulate(costs_s_.begin(), costs_s_.end(), 0.0);
}

std::optional<size_t> WorkQueue::take() {
  const std::lock_guard lock(mutex_);
  if (waiting_.empty()) return std::nullopt;
  const size_t index = waiting_.front();
  waiting_.pop_front();
  return index;
}

void WorkQueue::give_back(size_t index) {
  const std::lock_guard lock(mutex_);
  waiting_.push_front(index);
}

void WorkQueue::done(size_t index) {
  const std::lock_guard lock(mutex_);
  --num_left_;
  cost_left_s_ -= costs_s_.at(index);
}

bool WorkQueue::empty() const {
  const std::lock_guard lock(mutex_);
  return waiting_.empty();
}

size_t WorkQueue::num_left() const {
  const std::lock_guard lock(mutex_);
  return num_left_;
}

double WorkQueue::cost_left_s() const {
  const std::lock_guard lock(mutex_);
  return cost_left_s_;
}

}  // namespace attune
