// SPDX-License-Identifier: MIT
#include "dispatch/operand_overlap.h"

#include <string_view>

#include "base/error.h"

namespace attune {
namespace {

/// Returns half of the address space if the product overflows.
uint64_t bytes_of(uint64_t rows, uint64_t columns, DType dtype) noexcept {
  uint64_t product = 0;
  if (__builtin_mul_overflow(rows, columns, &product) ||
      __builtin_mul_overflow(product, static_cast<uint64_t>(bits(dtype)), &product))
    return UINT64_MAX >> 1;
  return (product + 7) / 8;
}

struct Memory {
  uintptr_t begin;
  uint64_t bytes;
  bool overlaps(const Memory& other) const noexcept {
    return begin < other.begin ? other.begin - begin < bytes : begin - other.begin < other.bytes;
  }
};

Memory memory_of(const void* start, uint64_t bytes) noexcept { return {reinterpret_cast<uintptr_t>(start), bytes}; }

void check(const Memory& output, std::string_view output_role, const Memory& input, std::string_view role) {
  if (!output.overlaps(input)) return;
  fail(ErrorCode::invalid_input,
       "the output {} overlaps the input {}, which is read while it is written: give it memory of its own", output_role,
       role);
}

}  // namespace

void check_output(const GemmKey& key, std::span<void* const> operands, OperandRoles roles) {
  const auto batch = static_cast<uint64_t>(key.batch), m = static_cast<uint64_t>(key.m) * batch,
             n = static_cast<uint64_t>(key.n), k = static_cast<uint64_t>(key.k);
  const Memory output = memory_of(operands.back(), bytes_of(m, n, key.out));
  check(output, "c", memory_of(operands[0], bytes_of(m, k, key.in)), "a");
  if (roles == OperandRoles::all) check(output, "c", memory_of(operands[1], bytes_of(n * batch, k, key.in)), "b");
  if ((key.flags & GemmKey::bias) != 0)
    check(output, "c", memory_of(operands[operands.size() - 2], bytes_of(1, n, key.in)), "bias");
}

void check_output(std::span<const TensorSpec> tensors, std::span<void* const> operands) {
  for (size_t out = 0; out < tensors.size(); ++out) {
    if (tensors[out].use != Use::output) continue;
    const Memory output = memory_of(operands[out], tensors[out].bytes());
    for (size_t in = 0; in < tensors.size(); ++in) {
      if (in != out) check(output, tensors[out].role, memory_of(operands[in], tensors[in].bytes()), tensors[in].role);
    }
  }
}

}  // namespace attune
