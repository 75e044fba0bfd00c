// SPDX-License-Identifier: MIT
// Read by the C++ compiler and by those of kernels.
#pragma once
#include <cstring>

#include "tensor/tensor_fill.h"

namespace attune {

/// The bits of fp16 or bf16 that are nearest to a finite float, ties to even. Without the intrinsics of a kernel's
/// compiler, so that the host's tests cover it.
ATTUNE_EVERYWHERE inline uint32_t rounded_bits(DType dtype, float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (dtype == DType::fp32) return bits;
  if (dtype == DType::bf16) return (bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16;
  const uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // 65520 and more round to infinity
  if (magnitude >= 0x38800000u) {
    const uint32_t even = (magnitude >> 13) & 1u;
    return sign | (((magnitude + 0xfffu + even) >> 13) - (112u << 10));
  }
  // Below 2^-14, a float whose last digit is 2^-24, fp16's smallest step: the sum rounds as fp16 does.
  float tiny;
  memcpy(&tiny, &magnitude, sizeof tiny);
  const float magic = 0.5f, sum = tiny + magic;
  uint32_t sum_bits, magic_bits;
  memcpy(&sum_bits, &sum, sizeof sum);
  memcpy(&magic_bits, &magic, sizeof magic);
  return sign | (sum_bits - magic_bits);
}

/// The number that fp32, bf16 or fp16 bits mean, finite ones.
ATTUNE_EVERYWHERE inline float value_of_bits(DType dtype, uint32_t bits) {
  if (dtype == DType::bf16) bits <<= 16;
  if (dtype == DType::fp16) {
    const uint32_t magnitude = bits & 0x7fffu;
    // As a float whose exponent is 112 too small, then scaled, which is right for subnormals, too.
    const uint32_t wide = magnitude << 13;
    float value;
    memcpy(&value, &wide, sizeof value);
    value *= 0x1p112f;
    return (bits & 0x8000u) != 0 ? -value : value;
  }
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/// The bits of the element at a place, of a type of is_kernel_dtype(): those that fill_tensor() writes. `start`:
/// fill_start() of the seed.
ATTUNE_EVERYWHERE inline uint32_t fill_element(const TensorFill& how, uint64_t start, uint64_t index) {
  if (how.values == TensorFill::Values::number) return rounded_bits(how.dtype, how.number);
  if (how.values == TensorFill::Values::sine) return rounded_bits(how.dtype, sine_value(index));
  const uint64_t bits = fill_bits(start, index);
  if (how.values == TensorFill::Values::uniform) return rounded_bits(how.dtype, uniform_value(bits));
  if (how.values == TensorFill::Values::integers) return rounded_bits(how.dtype, integer_value(bits, how.limit));
  const uint32_t normal = rounded_bits(how.dtype, normal_value(bits, 1 / kSumDeviation));
  // Rounded twice, as tensors are that are multiplied once they are filled: it matters below fp16's smallest normal.
  return how.factor == 1 ? normal : rounded_bits(how.dtype, how.factor * value_of_bits(how.dtype, normal));
}

}  // namespace attune
