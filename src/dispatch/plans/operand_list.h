// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "attune/tensor.h"

namespace attune {

/// Why operands are refused: the one list of conditions, with numbers where a sentence has roles.
struct OperandFault {
  enum class Kind : uint8_t { none, count, null, misaligned, overlap };
  Kind kind = Kind::none;
  uint8_t operand = 0;  ///< The null or misaligned one; the output that overlaps `other`.
  uint8_t other = 0;
};

/// What a call checks of a problem's operands, in the order of Op::tensors() and without text: how many there are,
/// their sizes and alignment, which are written and which are packed ahead. Kept with each answer.
class OperandList {
 public:
  static constexpr size_t kMax = 16;

  OperandList() = default;
  /// Requires: at most kMax tensors.
  explicit OperandList(std::span<const TensorSpec> tensors);

  size_t size() const noexcept { return size_; }
  size_t num_packed() const noexcept { return num_packed_; }
  bool is_packed(size_t i) const noexcept { return (packed_ >> i & 1) != 0; }
  /// Why a plan may not run on these operands, one for each tensor: all are there and aligned as the strictest asks,
  /// and no byte of an output is another operand's, because a kernel writes before it has read everything. Inputs may
  /// share bytes. About 4 ns.
  OperandFault fault_of(std::span<void* const> operands) const noexcept;
  bool accepts(std::span<void* const> operands) const noexcept {
    return fault_of(operands).kind == OperandFault::Kind::none;
  }

 private:
  OperandFault first_bad(std::span<void* const> operands) const noexcept;
  uint8_t size_ = 0, num_packed_ = 0;
  uint16_t outputs_ = 0, packed_ = 0;  ///< A bit for each tensor.
  uint64_t unaligned_ = 0;             ///< Bits that no operand's address may have.
  std::array<uint64_t, kMax> bytes_{};
};

/// Throws invalid_input, naming the operands by their roles, for what OperandList::accepts() refuses. `packed`: whether
/// the operands that are packed ahead are left out.
[[noreturn]] void refuse_operands(std::string_view op, std::span<const TensorSpec> tensors,
                                  std::span<void* const> operands, bool packed);

}  // namespace attune
