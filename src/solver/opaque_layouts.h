// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "attune/problem.h"
#include "attune/tensor.h"
#include "device/buffer.h"

namespace attune {

/// Tensors in their plain layouts, in the device's memory. The memory is the caller's.
using PlainOperands = std::span<const Buffer>;

/// The layouts of packed weights that a library alone can read and write. Used by the thread of its backend; named
/// layouts (attune/tensor.h) are not among them.
class OpaqueLayouts {
 public:
  virtual ~OpaqueLayouts() = default;
  /// Those that configs of the problem may name as `b_layout`; empty: none. A name contains everything that a reader
  /// of the bytes depends on: library, version, and the library's own parameters.
  virtual std::vector<Layout> layouts(const Problem& problem) = 0;
  /// Size of a problem's packed operands in one of layouts(), all in one block. Throws unavailable when the library
  /// does not support it.
  virtual uint64_t packed_bytes(const Layout& layout, const Problem& problem) const = 0;
  /// Where each packed operand begins in that block, in the order of Op::tensors(), at a multiple of its alignment.
  /// Default: one operand, at the beginning.
  virtual std::vector<uint64_t> packed_offsets(const Layout&, const Problem&) const { return {0}; }
  /// Packs plain operands (those with TensorSpec::is_packed, in their order) into device memory of packed_bytes(),
  /// aligned like the first. The bytes may depend on their address: they are packed in place and never moved. Throws
  /// like packed_bytes().
  virtual void pack(const Layout& layout, const Problem& problem, PlainOperands plain, Buffer packed) const = 0;
};

}  // namespace attune
