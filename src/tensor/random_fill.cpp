// SPDX-License-Identifier: MIT
#include "tensor/random_fill.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/hash.h"
#include "tensor/all_cores.h"
#include "tensor/convert.h"
#include "tensor/rounding.h"

namespace attune {
namespace {

constexpr size_t kLeastWithEnds = 8;
constexpr size_t kBlockElements = 1024;  // Elements; an even number, for whole bytes of every type.
/// Tensors of more blocks are filled on all cores: a thread costs more than it saves below.
constexpr size_t kManyBlocks = 1024;

size_t num_elements(DType dtype, std::span<const std::byte> out) {
  return out.size() * 8 / static_cast<size_t>(bits(dtype));
}

/// Fills each element with `value(index)`.
template <typename Value>
void fill_places(DType dtype, std::span<std::byte> out, Value value) {
  const size_t count = num_elements(dtype, out);
  const auto fill = [&](int64_t first, int64_t last) {
    std::array<float, kBlockElements> block;
    const size_t end = std::min(count, static_cast<size_t>(last) * kBlockElements);
    for (size_t begin = static_cast<size_t>(first) * kBlockElements; begin < end; begin += kBlockElements) {
      const size_t size = std::min(kBlockElements, end - begin);
      for (size_t i = 0; i < size; ++i) block[i] = value(begin + i);
      from_float(dtype, std::span(block.data(), size), out.data() + stored_bytes(bits(dtype), begin));
    }
  };
  const size_t num_blocks = (count + kBlockElements - 1) / kBlockElements;
  if (num_blocks > kManyBlocks)
    over_all_cores(static_cast<int64_t>(num_blocks), fill);
  else
    fill(0, static_cast<int64_t>(num_blocks));
}

/// Fills from `draw(random bits)`.
template <typename Draw>
void fill_blocks(DType dtype, uint64_t seed, std::span<std::byte> out, Draw draw) {
  fill_places(dtype, out, [draw, start = fill_start(seed)](uint64_t index) { return draw(fill_bits(start, index)); });
}

void require_signed(DType dtype) {
  if (dtype == DType::e8m0) fail(ErrorCode::invalid_input, "e8m0 has positive numbers only, it holds scales");
}

float standard_deviation(DType dtype) {
  switch (dtype) {
    case DType::int32:
      return 1000;
    case DType::int8:
      return 32;
    case DType::int4:
      return 2;
    case DType::e2m1:
      return 1.5f;
    default:
      return 1;
  }
}

/// Puts the numbers at the ends of the type's range at the ends of the elements.
void put_ends(DType dtype, std::span<std::byte> out) {
  const Rounding& rounding = Rounding::of(dtype);
  const auto largest = static_cast<float>(rounding.largest), smallest = static_cast<float>(2 * rounding.step);
  from_float(dtype, std::array{largest, smallest}, out.data());
  from_float(dtype, std::array{-smallest, -largest}, out.data() + out.size() - stored_bytes(bits(dtype), 2));
}

/// Multiplies values by a power of two, which changes no bit of their mantissas.
void multiply(DType dtype, float factor, std::span<std::byte> tensor) {
  const auto bytes = static_cast<size_t>(bits(dtype)) / 8;
  std::array<float, kBlockElements> block;
  for (size_t begin = 0; begin < tensor.size(); begin += block.size() * bytes) {
    const auto part = tensor.subspan(begin, std::min(block.size() * bytes, tensor.size() - begin));
    const auto values = std::span(block).first(part.size() / bytes);
    to_float(dtype, part.data(), values);
    for (float& value : values) value *= factor;
    from_float(dtype, values, part.data());
  }
}

}  // namespace

uint64_t fill_start(uint64_t seed) { return derive_seed(seed, "tensor"); }

void fill_tensor(const TensorFill& how, std::span<std::byte> out) {
  switch (how.values) {
    case TensorFill::Values::normal:
      fill_normal(how.dtype, how.seed, out);
      if (how.factor != 1) multiply(how.dtype, how.factor, out);
      return;
    case TensorFill::Values::integers:
      return fill_integers(how.dtype, how.seed, how.limit, out);
    case TensorFill::Values::uniform:
      return fill_blocks(how.dtype, how.seed, out, uniform_value);
    case TensorFill::Values::sine:
      return fill_places(how.dtype, out, sine_value);
    case TensorFill::Values::number:
      return fill_places(how.dtype, out, [&](uint64_t) { return how.number; });
  }
}

void fill_normal(DType dtype, uint64_t seed, std::span<std::byte> out) {
  require_signed(dtype);
  const float scale = standard_deviation(dtype) / kSumDeviation;
  fill_blocks(dtype, seed, out, [=](uint64_t bits) { return normal_value(bits, scale); });
  if (bits(dtype) <= 8 && num_elements(dtype, out) >= kLeastWithEnds) put_ends(dtype, out);
}

void fill_integers(DType dtype, uint64_t seed, int limit, std::span<std::byte> out) {
  require_signed(dtype);
  fill_blocks(dtype, seed, out, [=](uint64_t bits) { return integer_value(bits, limit); });
}

void fill_scales(DType dtype, uint64_t seed, ScaleValues values, std::span<std::byte> out) {
  if (dtype != DType::fp32 && dtype != DType::bf16 && dtype != DType::fp16 && dtype != DType::e8m0)
    fail(ErrorCode::invalid_input, "scales are of fp32, bf16, fp16 or e8m0, got {}", name(dtype));
  if (values == ScaleValues::exact) {
    return fill_blocks(dtype, seed, out,
                       [](uint64_t bits) { return std::ldexp(1.0f, static_cast<int>((bits >> 32) * 3 >> 32) - 1); });
  }
  // A power of two times a number in [1, 2): the same everywhere, unlike exp2.
  fill_blocks(dtype, seed, out, [](uint64_t bits) {
    const auto power = static_cast<int>((bits >> 32) * 8 >> 32) - 4;
    return std::ldexp(1.0f + static_cast<float>(bits & 0xffff) * 0x1p-16f, power);
  });
  if (num_elements(dtype, out) < 2) return;
  from_float(dtype, std::array{0x1p-6f}, out.data());
  from_float(dtype, std::array{0x1p5f}, out.data() + out.size() - stored_bytes(bits(dtype), 1));
}

}  // namespace attune
