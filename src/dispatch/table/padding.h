// SPDX-License-Identifier: MIT
#pragma once
#include <bit>
#include <cstdint>

namespace attune {

/// Returns M padded as the older dispatchers pad it (ROCm/aiter, gemm_common), so that their tables serve the same
/// shapes. Fine: M up to 256 is rounded up to a multiple of 16, up to 1024 of 32, up to 4096 of 64, larger M of 128.
/// Requires: M ≥ 1.
constexpr int64_t padded_m_fine(int64_t m) noexcept {
  const int64_t step = m <= 256 ? 16 : m <= 1024 ? 32 : m <= 4096 ? 64 : 128;
  return (m + step - 1) & -step;  // A power of two: a division would cost a third of an exact lookup.
}

/// Coarse: returns 8192 when M > 8192 and N > 4096, else the next power of two.
constexpr int64_t padded_m_coarse(int64_t m, int64_t n) noexcept {
  if (m > 8192 && n > 4096) return 8192;
  return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(m)));
}

}  // namespace attune
