// SPDX-License-Identifier: MIT
#pragma once
#include <deque>
#include <mutex>
#include <optional>
#include <vector>

namespace attune {

/// The problems of a run that nobody has begun, by their place in the input; what each is expected to cost. Any thread.
class WorkQueue {
 public:
  /// `longest_first`: for several devices, so that none is left alone with a long one at the end; otherwise in the
  /// order of the input: where a budget does not suffice for all, those that come first get what they need.
  WorkQueue(std::vector<double> costs_s, bool longest_first);

  std::optional<size_t> take();
  /// Back into the queue: its device is gone.
  void give_back(size_t index);
  /// A problem that was taken has ended.
  void done(size_t index);
  bool empty() const;
  size_t num_left() const;     ///< Not done yet, begun ones included.
  double cost_left_s() const;  ///< Of these.
  double cost_s(size_t index) const { return costs_s_.at(index); }

 private:
  mutable std::mutex mutex_;
  std::vector<double> costs_s_;
  std::deque<size_t> waiting_;
  size_t num_left_;
  double cost_left_s_ = 0;
};

}  // namespace attune
