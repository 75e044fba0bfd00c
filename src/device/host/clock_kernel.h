// SPDX-License-Identifier: MIT
#pragma once
#include <functional>

namespace attune {

/// Tells how fast the calling thread's core runs by timing a fixed chain of dependent multiplications: no memory, no
/// vector unit, so only the clock (and being interrupted) changes its time.
class ClockKernel {
 public:
  /// Costs nothing. `chain_us` runs one chain and says how long it took; for tests.
  explicit ClockKernel(std::function<double()> chain_us = {});

  /// Finds the usual clock: runs chains until three successive milliseconds agree within 1 %, for 20 to 200 ms, as a
  /// sleeping core takes that long to reach its clock. Once; later calls return at once.
  void calibrate();
  /// Speed now over the usual one (1 = usual). About 20 µs: the faster of two chains, so that one interrupt does not
  /// look like a slow clock. Eight readings in a row that are more than 2 % faster are the usual clock from then on.
  double relative();
  /// The fastest clock seen so far, in GHz, if a 64-bit multiplication takes 3 cycles; 0 before calibrate(). Cores
  /// that take longer (Intel's small ones, AMD's before Zen) run faster than this says.
  double highest_ghz() const noexcept;

 private:
  double read_us();

  std::function<double()> chain_us_;
  double usual_us_ = 0, fastest_us_ = 0;
  int num_faster_ = 0;  ///< Readings in a row that were faster than usual.
  double slowest_of_faster_us_ = 0;
};

}  // namespace attune
