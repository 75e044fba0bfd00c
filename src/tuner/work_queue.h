// SPDX-License-Identifier: MIT
#pragma once
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

namespace attune {

/// Problems of a run that were not started yet, by their position in the input, with their expected costs. Thread-safe.
class WorkQueue {
 public:
  /// `longest_first`: start with the longest problems, for several devices, so that no long one runs alone at the end.
  /// Otherwise input order: if a budget does not suffice for all, the first problems get the time they need.
  WorkQueue(std::vector<double> costs_s, bool longest_first);

  std::optional<size_t> take();
  /// Returns a problem to the queue because its device was lost.
  void give_back(size_t index);
  /// Marks a problem as ended.
  void done(size_t index);
  bool empty() const;
  size_t num_left() const;     ///< Number of problems not done yet, started ones included.
  double cost_left_s() const;  ///< Expected cost of the problems not done yet.
  double cost_s(size_t index) const { return costs_s_.at(index); }

 private:
  mutable std::mutex mutex_;
  std::vector<double> costs_s_;
  std::deque<size_t> waiting_;
  size_t num_left_;
  double cost_left_s_ = 0;
};

}  // namespace attune
