// SPDX-License-Identifier: MIT
#include "tensor/convert.h"

#include <cstring>

#include "base/error.h"

namespace attune {
namespace {

template <typename Stored, typename Convert>
void store_all(std::span<const float> values, std::byte* stored, Convert convert) {
  auto* out = reinterpret_cast<Stored*>(stored);
  for (size_t i = 0; i < values.size(); ++i) out[i] = convert(values[i]);
}

template <typename Stored, typename Convert>
void load_all(const std::byte* stored, std::span<float> values, Convert convert) {
  const auto* in = reinterpret_cast<const Stored*>(stored);
  for (size_t i = 0; i < values.size(); ++i) values[i] = convert(in[i]);
}

[[noreturn]] void unsupported(DType dtype) {
  fail(ErrorCode::invalid_input, "conversion supports fp64, fp32, bf16 and fp16, got {}", name(dtype));
}

}  // namespace

void from_float(DType dtype, std::span<const float> values, std::byte* stored) {
  switch (dtype) {
    case DType::fp64:
      return store_all<double>(values, stored, [](float v) { return static_cast<double>(v); });
    case DType::fp32:
      std::memcpy(stored, values.data(), values.size_bytes());
      break;
    case DType::bf16:
      return store_all<uint16_t>(values, stored, [](float v) { return to_bf16(v); });
    case DType::fp16:
      return store_all<_Float16>(values, stored, [](float v) { return static_cast<_Float16>(v); });
    default:
      unsupported(dtype);
  }
}

void to_float(DType dtype, const std::byte* stored, std::span<float> values) {
  switch (dtype) {
    case DType::fp64:
      return load_all<double>(stored, values, [](double v) { return static_cast<float>(v); });
    case DType::fp32:
      std::memcpy(values.data(), stored, values.size_bytes());
      break;
    case DType::bf16:
      return load_all<uint16_t>(stored, values, [](uint16_t v) { return from_bf16(v); });
    case DType::fp16:
      return load_all<_Float16>(stored, values, [](_Float16 v) { return static_cast<float>(v); });
    default:
      unsupported(dtype);
  }
}

double unit_roundoff(DType dtype) {
  switch (dtype) {
    case DType::fp64:
      return 0x1p-53;
    case DType::fp32:
      return 0x1p-24;
    case DType::bf16:
      return 0x1p-8;
    case DType::fp16:
      return 0x1p-11;
    default:
      unsupported(dtype);
  }
}

}  // namespace attune
