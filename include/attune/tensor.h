// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "attune/dtype.h"

namespace attune {

/// A named, versioned order of a tensor's bytes; the version is part of the name (`plain`, `host.vnni4x16.v1`).
struct Layout {
  std::string name = "plain";
  bool operator==(const Layout&) const = default;
};

enum class Use : uint8_t { activation, weight, scale, index, output };

/// One operand of an op. Rows (last axis) are contiguous.
struct TensorSpec {
  std::string role;  ///< `a`, `b`, `bias`, `c`.
  DType dtype = DType::fp32;
  std::vector<int64_t> shape;  ///< In elements.
  Layout layout;
  Use use = Use::activation;
  uint32_t alignment_bytes = 16;  ///< What callers promise; test buffers are aligned to this and no better.
  int64_t elements() const noexcept;
  uint64_t bytes() const noexcept;  ///< Sub-byte types: the last axis is packed, element 0 in the low bits.
};

}  // namespace attune
