// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

namespace attune {

/// How far strategies are asked ahead of the candidate that is admitted, so that its name and its kernel are there when
/// the device has time for it: as many candidates as are admitted while one is compiled. A value.
class LookAhead {
 public:
  /// Reports an admitted candidate: the seconds that its kernels took to compile (0: none was), and the admission.
  void admitted(double compile_s, double admission_s) noexcept;
  /// Candidates to ask for ahead. At most a batch, which is admitted without a round between, and two for each
  /// compiler, which keeps it busy; as many as that while nothing is known; at least four, which are admitted while the
  /// search computes what comes behind them. A power of two, or that bound, so that two runs seldom differ.
  uint32_t window(uint32_t num_compilers, uint32_t batch) const noexcept;

 private:
  double compile_s_ = 0, admission_s_ = 0;
};

}  // namespace attune
