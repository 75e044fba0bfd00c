// SPDX-License-Identifier: MIT
#include "tensor/convert.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "tensor/narrow_float.h"

namespace attune {
namespace {

template <typename Stored, typename Value, typename Convert>
void store_all(std::span<const Value> values, std::byte* stored, Convert convert) {
  auto* out = reinterpret_cast<Stored*>(stored);
  for (size_t i = 0; i < values.size(); ++i) out[i] = convert(values[i]);
}

template <typename Stored, typename Value, typename Convert>
void load_all(const std::byte* stored, std::span<Value> values, Convert convert) {
  const auto* in = reinterpret_cast<const Stored*>(stored);
  for (size_t i = 0; i < values.size(); ++i) values[i] = convert(in[i]);
}

/// Two codes a byte, the first in the lower half.
template <typename Convert>
void store_halves(std::span<const float> values, std::byte* stored, Convert convert) {
  for (size_t i = 0; i < values.size(); i += 2) {
    const unsigned high = i + 1 < values.size() ? convert(values[i + 1]) & 15u : 0;
    stored[i / 2] = static_cast<std::byte>((convert(values[i]) & 15u) | high << 4);
  }
}

template <typename Convert>
void load_halves(const std::byte* stored, std::span<float> values, Convert convert) {
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = convert(static_cast<uint8_t>(std::to_integer<unsigned>(stored[i / 2]) >> (i % 2 * 4) & 15u));
}

template <typename Integer>
Integer saturated(float value, double min, double largest) {
  if (std::isnan(value)) return 0;
  return static_cast<Integer>(std::clamp(std::nearbyint(static_cast<double>(value)), min, largest));
}

int8_t to_int4(float value) { return saturated<int8_t>(value, -8, 7); }
float from_int4(uint8_t code) { return static_cast<float>(code < 8 ? code : code - 16); }

/// A narrow float's numbers by code: a table is faster than the arithmetic.
template <typename Decode>
std::array<float, 256> decoded(Decode decode) {
  std::array<float, 256> numbers{};
  for (size_t code = 0; code < numbers.size(); ++code) numbers[code] = decode(static_cast<uint8_t>(code));
  return numbers;
}

const std::array<float, 256>& numbers_of(DType dtype) {
  static const auto e4m3fn = decoded([](uint8_t code) { return kE4m3fn.decode(code); }),
                    e4m3fnuz = decoded([](uint8_t code) { return kE4m3fnuz.decode(code); }),
                    e5m2 = decoded([](uint8_t code) { return kE5m2.decode(code); }),
                    e5m2fnuz = decoded([](uint8_t code) { return kE5m2fnuz.decode(code); }),
                    e8m0 = decoded(decode_e8m0);
  switch (dtype) {
    case DType::e4m3fn:
      return e4m3fn;
    case DType::e4m3fnuz:
      return e4m3fnuz;
    case DType::e5m2:
      return e5m2;
    case DType::e5m2fnuz:
      return e5m2fnuz;
    case DType::e8m0:
      return e8m0;
    default:
      fail(ErrorCode::internal, "no table of codes: {}", name(dtype));
  }
}

}  // namespace

void from_float(DType dtype, std::span<const float> values, std::byte* stored) {
  switch (dtype) {
    case DType::fp64:
      return store_all<double>(values, stored, [](float v) { return static_cast<double>(v); });
    case DType::fp32:
      std::memcpy(stored, values.data(), values.size_bytes());
      return;
    case DType::bf16:
      return store_all<uint16_t>(values, stored, [](float v) { return to_bf16(v); });
    case DType::fp16:
      return store_all<_Float16>(values, stored, [](float v) { return static_cast<_Float16>(v); });
    case DType::int32:
      return store_all<int32_t>(values, stored, [](float v) {
        return saturated<int32_t>(v, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
      });
    case DType::int8:
      return store_all<int8_t>(values, stored, [](float v) { return saturated<int8_t>(v, -128, 127); });
    case DType::int4:
      return store_halves(values, stored, [](float v) { return static_cast<unsigned>(to_int4(v)); });
    case DType::e2m1:
      return store_halves(values, stored, [](float v) { return static_cast<unsigned>(kE2m1.encode(v)); });
    case DType::e4m3fn:
      return store_all<uint8_t>(values, stored, [](float v) { return kE4m3fn.encode(v); });
    case DType::e4m3fnuz:
      return store_all<uint8_t>(values, stored, [](float v) { return kE4m3fnuz.encode(v); });
    case DType::e5m2:
      return store_all<uint8_t>(values, stored, [](float v) { return kE5m2.encode(v); });
    case DType::e5m2fnuz:
      return store_all<uint8_t>(values, stored, [](float v) { return kE5m2fnuz.encode(v); });
    case DType::e8m0:
      return store_all<uint8_t>(values, stored, encode_e8m0);
  }
}

void to_float(DType dtype, const std::byte* stored, std::span<float> values) {
  switch (dtype) {
    case DType::fp64:
      return load_all<double>(stored, values, [](double v) { return static_cast<float>(v); });
    case DType::fp32:
      std::memcpy(values.data(), stored, values.size_bytes());
      return;
    case DType::bf16:
      return load_all<uint16_t>(stored, values, [](uint16_t v) { return from_bf16(v); });
    case DType::fp16:
      return load_all<_Float16>(stored, values, [](_Float16 v) { return static_cast<float>(v); });
    case DType::int32:
      return load_all<int32_t>(stored, values, [](int32_t v) { return static_cast<float>(v); });
    case DType::int8:
      return load_all<int8_t>(stored, values, [](int8_t v) { return static_cast<float>(v); });
    case DType::int4:
      return load_halves(stored, values, from_int4);
    case DType::e2m1:
      return load_halves(stored, values, [](uint8_t code) { return kE2m1.decode(code); });
    default:
      return load_all<uint8_t>(stored, values, [&numbers = numbers_of(dtype)](uint8_t code) { return numbers[code]; });
  }
}

void to_double(DType dtype, const std::byte* stored, std::span<double> values) {
  if (dtype == DType::fp64) {
    std::memcpy(values.data(), stored, values.size_bytes());
    return;
  }
  if (dtype == DType::int32) return load_all<int32_t>(stored, values, [](int32_t v) { return static_cast<double>(v); });
  std::array<float, 1024> block;  // An even number: whole bytes of every type.
  for (size_t begin = 0; begin < values.size(); begin += block.size()) {
    const std::span numbers(block.data(), std::min(block.size(), values.size() - begin));
    to_float(dtype, stored + stored_bytes(bits(dtype), begin), numbers);
    std::copy(numbers.begin(), numbers.end(), values.begin() + static_cast<std::ptrdiff_t>(begin));
  }
}

}  // namespace attune
