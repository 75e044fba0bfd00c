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

bool OperandList::accepts(std::span<void* const> operands) const noexcept {
  if (operands.size() != size_) return false;
  uintptr_t bits = 0;
  for (void* const operand : operands) {
    if (operand == nullptr) return false;
    bits |= reinterpret_cast<uintptr_t>(operand);
  }
  if ((bits & unaligned_) != 0) return false;
  for (size_t out = 0; out < size_; ++out) {
    if ((outputs_ >> out & 1) == 0) continue;
    const Memory output = memory_of(operands[out], bytes_[out]);
    for (size_t in = 0; in < size_; ++in) {
      if (in != out && output.overlaps(memory_of(operands[in], bytes_[in]))) return false;
    }
  }
  return true;
}

void refuse_operands(std::string_view op, std::span<const TensorSpec> tensors, std::span<void* const> operands,
                     bool packed) {
  std::vector<TensorSpec> taken;
  std::copy_if(tensors.begin(), tensors.end(), std::back_inserter(taken),
               [&](const TensorSpec& tensor) { return !packed || !tensor.is_packed; });
  if (operands.size() != taken.size()) {
    std::vector<std::string> roles;
    for (const TensorSpec& tensor : taken) roles.push_back(tensor.role);
    fail(ErrorCode::invalid_input, "this problem of {} has {} operands{} ({}), got {}", op, taken.size(),
         packed ? " besides its packed ones" : "", join(roles, ", "), operands.size());
  }
  for (size_t i = 0; i < taken.size(); ++i) {
    if (operands[i] == nullptr)
      fail(ErrorCode::invalid_input, "a null pointer was given for operand {}, {}", i, taken[i].role);
    if ((reinterpret_cast<uintptr_t>(operands[i]) & (taken[i].alignment_bytes - 1)) != 0)
      fail(ErrorCode::invalid_input, "operands must be aligned to {} bytes, this one is not: {}, {}",
           taken[i].alignment_bytes, i, taken[i].role);
  }
  for (size_t out = 0; out < taken.size(); ++out) {
    if (taken[out].use != Use::output) continue;
    const Memory output = memory_of(operands[out], taken[out].bytes());
    for (size_t in = 0; in < taken.size(); ++in) {
      if (in != out && output.overlaps(memory_of(operands[in], taken[in].bytes())))
        fail(ErrorCode::invalid_input,
             "the output {} overlaps the {} {}, which is {} while it is written: give it memory of its own",
             taken[out].role, taken[in].use == Use::output ? "output" : "input", taken[in].role,
             taken[in].use == Use::output ? "written" : "read");
    }
  }
  fail(ErrorCode::invalid_input,
       "the output of this problem of {} overlaps the packed weights: give it memory of its own", op);
}

}  // namespace attune
