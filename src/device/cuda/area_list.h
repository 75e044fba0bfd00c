// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace attune {

/// Areas for one launch of a kernel of device_kernels.cu, passed by value. An area is cut into pieces, which are
/// numbered through all areas, so that blocks share the work evenly for any sizes.
struct AreaList {
  static constexpr uint32_t kMaxAreas = 120;  ///< Maximum that fits into the 4 KiB of a launch's arguments.
  /// A multiple of every element size, and just large enough to keep a multiprocessor busy.
  static constexpr uint64_t kPieceBytes = 64 << 10;

  uint8_t* data[kMaxAreas];
  uint64_t bytes[kMaxAreas];
  uint64_t pattern[kMaxAreas];          ///< Repeated to 8 bytes; follows the addresses. Unused by a hash.
  uint32_t first_piece[kMaxAreas + 1];  ///< The last one: number of all pieces.
  uint32_t count;
  uint8_t pattern_bytes[kMaxAreas];  ///< Size of an element of it.
};
static_assert(sizeof(AreaList) < 4000);

}  // namespace attune
