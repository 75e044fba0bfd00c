// SPDX-License-Identifier: MIT
#include "dispatch/plans/operand_list.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace attune {
namespace {

struct Memory {
  uintptr_t begin;
  uint64_t bytes;
  bool overlaps(const Memory& other) const noexcept {
    return begin < other.begin ? other.begin - begin < bytes : begin - other.begin < other.bytes;
  }
};

Memory memory_of(const void* start, uint64_t bytes) noexcept { return {reinterpret_cast<uintptr_t>(start), bytes}; }

}  // namespace

OperandList::OperandList(std::span<const TensorSpec> tensors) : size_(static_cast<uint8_t>(tensors.size())) {
  ATTUNE_CHECK(tensors.size() <= kMax, "a problem has {} operands", tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto bit = static_cast<uint16_t>(1U << i);
    bytes_[i] = tensors[i].bytes();
    unaligned_ |= tensors[i].alignment_bytes - 1;
    if (tensors[i].use == Use::output) outputs_ |= bit;
    if (tensors[i].is_packed) packed_ |= bit;
    if (tensors[i].is_packed) ++num_packed_;
  }
}

OperandFault OperandList::fault_of(std::span<void* const> operands) const noexcept {
  using enum OperandFault::Kind;
  if (operands.size() != size_) return {count};
  uintptr_t bits = 0;
  bool has_all = true;
  for (void* const operand : operands) {
    has_all = has_all && operand != nullptr;
    bits |= reinterpret_cast<uintptr_t>(operand);
  }
  if (!has_all || (bits & unaligned_) != 0) return first_bad(operands);
  for (uint8_t out = 0; out < size_; ++out) {
    if ((outputs_ >> out & 1) == 0) continue;
    const Memory output = memory_of(operands[out], bytes_[out]);
    for (uint8_t in = 0; in < size_; ++in) {
      if (in != out && output.overlaps(memory_of(operands[in], bytes_[in]))) return {overlap, out, in};
    }
  }
  return {};
}

/// The operands, together, have a null pointer or a bit that none may have: finds whose it is.
OperandFault OperandList::first_bad(std::span<void* const> operands) const noexcept {
  using enum OperandFault::Kind;
  for (uint8_t i = 0; i < size_; ++i) {
    if (operands[i] == nullptr) return {null, i};
    if ((reinterpret_cast<uintptr_t>(operands[i]) & unaligned_) != 0) return {misaligned, i};
  }
  return {};
}

void refuse_operands(std::string_view op, std::span<const TensorSpec> tensors, std::span<void* const> operands,
                     bool packed) {
  std::vector<TensorSpec> taken;
  std::copy_if(tensors.begin(), tensors.end(), std::back_inserter(taken),
               [&](const TensorSpec& tensor) { return !packed || !tensor.is_packed; });
  const OperandFault fault = OperandList(taken).fault_of(operands);
  const auto role = [&](size_t i) -> const std::string& { return taken[i].role; };
  switch (fault.kind) {
    case OperandFault::Kind::count: {
      std::vector<std::string> roles;
      for (const TensorSpec& tensor : taken) roles.push_back(tensor.role);
      fail(ErrorCode::invalid_input, "this problem of {} has {} operands{} ({}), got {}", op, taken.size(),
           packed ? " besides its packed ones" : "", join(roles, ", "), operands.size());
    }
    case OperandFault::Kind::null:
      fail(ErrorCode::invalid_input, "a null pointer was given for operand {}, {}", fault.operand, role(fault.operand));
    case OperandFault::Kind::misaligned: {
      uint32_t alignment_bytes = 1;
      for (const TensorSpec& tensor : taken) alignment_bytes = std::max(alignment_bytes, tensor.alignment_bytes);
      fail(ErrorCode::invalid_input, "operands must be aligned to {} bytes, this one is not: {}, {}", alignment_bytes,
           fault.operand, role(fault.operand));
    }
    case OperandFault::Kind::overlap: {
      const bool is_output = taken[fault.other].use == Use::output;
      fail(ErrorCode::invalid_input,
           "the output {} overlaps the {} {}, which is {} while it is written: give it memory of its own",
           role(fault.operand), is_output ? "output" : "input", role(fault.other), is_output ? "written" : "read");
    }
    case OperandFault::Kind::none:
      break;
  }
  fail(ErrorCode::invalid_input,
       "the output of this problem of {} overlaps the packed weights: give it memory of its own", op);
}

}  // namespace attune
