// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

namespace attune {

/// Computes how many candidates to ask strategies for in advance, so that their names and kernels are ready when the
/// device has time for them. That is as many candidates as are admitted while one is compiled. A value.
class LookAhead {
 public:
  /// Reports an admitted candidate: the seconds that its kernels took to compile (0: none was), and the admission.
  void admitted(double compile_s, double admission_s) noexcept;
  /// Candidates to ask for in advance: from 4 to `batch` + 2 * `num_compilers`, the maximum while nothing is known. A
  /// batch is admitted without a round in between. Two per compiler keep it busy. At least four are admitted while the
  /// search computes the next ones. A power of two, or the maximum, so that two runs seldom differ.
  uint32_t window(uint32_t num_compilers, uint32_t batch) const noexcept;

 private:
  double compile_s_ = 0, admission_s_ = 0;
};

}  // namespace attune
