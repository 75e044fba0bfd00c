// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace attune {

/// The largest extent of any family. Below 2^31, so that vendor interfaces with 32-bit sizes cannot overflow.
inline constexpr int64_t kMaxExtent = (int64_t{1} << 31) - 1;

}  // namespace attune
