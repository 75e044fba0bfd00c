// SPDX-License-Identifier: MIT
#pragma once
#include <functional>

namespace attune {

/// Measures the current speed of the calling thread's core by timing a fixed chain of dependent multiplications:
/// without memory accesses and vector units, only the clock (and interruptions) changes its time.
class ClockKernel {
 public:
  /// Cheap. `chain_us` runs one chain and returns its time; for tests.
  explicit ClockKernel(std::function<double()> chain_us = {});

  /// Determines the usual clock: runs chains until three successive milliseconds agree within 1 %, for 20 to 200 ms,
  /// since a sleeping core takes that long to reach its clock. Later calls return at once.
  void calibrate();
  /// Current speed / usual speed (1: usual). Takes about 20 µs: the faster of two chains, so that one interrupt does
  /// not look like a slow clock. After eight readings in a row that are more than 2 % faster, these become the usual
  /// speed.
  double relative();
  /// The highest clock measured so far, in GHz, if a 64-bit multiplication takes 3 cycles; 0 before calibrate(). Slower
  /// multipliers (Intel's small cores, AMD before Zen) mean that the clock is higher than this.
  double highest_ghz() const noexcept;

 private:
  double read_us();

  std::function<double()> chain_us_;
  double usual_us_ = 0, fastest_us_ = 0;
  int num_faster_ = 0;  ///< Consecutive readings that were faster than usual.
  double slowest_of_faster_us_ = 0;
};

}  // namespace attune
