// SPDX-License-Identifier: MIT
#include "api/c_calls.h"
#include "attune/attune_quantise.h"
#include "attune/quantise.h"
#include "base/error.h"

namespace attune {
namespace {

static_assert(int{ATTUNE_EXPONENT_FLOOR} == static_cast<int>(ExponentRounding::floor) &&
              int{ATTUNE_EXPONENT_RCEIL} == static_cast<int>(ExponentRounding::rceil));

/// The areas of a matrix, as large as its types and groups say.
struct QuantisedAreas {
  QuantisedMatrix how;
  size_t num_values = 0, element_bytes = 0, num_scales = 0;

  QuantisedAreas(uint32_t dtype, int64_t rows, int64_t k, int64_t group_rows, int64_t group_depth) {
    constexpr int64_t kMaxElements = int64_t{1} << 56;
    if (dtype >= kNumDTypes) fail(ErrorCode::invalid_input, "unknown data type number: {}", dtype);
    if (rows < 1 || k < 1 || group_rows < 0 || group_depth < 0 || rows > kMaxElements / k)
      fail(ErrorCode::invalid_input, "a quantised matrix has at least one row and column, got {}×{} in groups of {}×{}",
           rows, k, group_rows, group_depth);
    how = {
        .dtype = static_cast<DType>(dtype), .rows = rows, .k = k, .group_rows = group_rows, .group_depth = group_depth};
    const auto parts = [](int64_t all, int64_t each) { return each == 0 ? int64_t{1} : (all - 1) / each + 1; };
    num_values = static_cast<size_t>(rows * k);
    element_bytes = static_cast<size_t>(rows * ((k * bits(how.dtype) + 7) / 8));
    num_scales = static_cast<size_t>(parts(rows, group_rows) * parts(k, group_depth));
  }
  std::span<const float> values(const float* at) const { return {needed(at, "values"), num_values}; }
  std::span<std::byte> elements(void* at) const {
    return {static_cast<std::byte*>(needed(at, "elements")), element_bytes};
  }
  std::span<float> scales(float* at) const { return {needed(at, "scales"), num_scales}; }
};

}  // namespace
}  // namespace attune

using namespace attune;

int attune_quantise_rows(uint32_t dtype, int64_t rows, int64_t k, const float* values, void* elements, float* scales) {
  return guarded([&] {
    const QuantisedAreas areas(dtype, rows, k, 1, 0);
    quantise_rows(areas.how.dtype, rows, k, areas.values(values), areas.elements(elements), areas.scales(scales));
  });
}

int attune_quantise_tensor(uint32_t dtype, int64_t rows, int64_t k, const float* values, void* elements, float* scale) {
  return guarded([&] {
    const QuantisedAreas areas(dtype, rows, k, 0, 0);
    quantise_tensor(areas.how.dtype, rows, k, areas.values(values), areas.elements(elements), *needed(scale, "scale"));
  });
}

int attune_quantise_blocks(uint32_t dtype, int64_t rows, int64_t k, int64_t block_rows, int64_t block_depth,
                           const float* values, void* elements, float* scales) {
  return guarded([&] {
    const QuantisedAreas areas(dtype, rows, k, block_rows, block_depth);
    quantise_blocks(areas.how.dtype, rows, k, block_rows, block_depth, areas.values(values), areas.elements(elements),
                    areas.scales(scales));
  });
}

int attune_quantise_mxfp4(int64_t rows, int64_t k, uint32_t rounding, const float* values, void* elements,
                          uint8_t* scales) {
  return guarded([&] {
    if (rounding > ATTUNE_EXPONENT_RCEIL)
      fail(ErrorCode::invalid_input, "unknown rounding, expected ATTUNE_EXPONENT_FLOOR or _RCEIL: {}", rounding);
    const QuantisedAreas areas(ATTUNE_E2M1, rows, k, 1, 32);
    quantise_mxfp4(rows, k, static_cast<ExponentRounding>(rounding), areas.values(values), areas.elements(elements),
                   std::as_writable_bytes(std::span(needed(scales, "scales"), areas.num_scales)));
  });
}

int attune_dequantise(uint32_t dtype, uint32_t scale_dtype, int64_t rows, int64_t k, int64_t group_rows,
                      int64_t group_depth, const void* elements, const void* scales, float* values) {
  return guarded([&] {
    QuantisedAreas areas(dtype, rows, k, group_rows, group_depth);
    if (scale_dtype >= kNumDTypes) fail(ErrorCode::invalid_input, "unknown data type number: {}", scale_dtype);
    areas.how.scale = static_cast<DType>(scale_dtype);
    const auto bytes = [](const void* at, const char* name, size_t count) {
      return std::span(static_cast<const std::byte*>(needed(at, name)), count);
    };
    dequantise(areas.how, bytes(elements, "elements", areas.element_bytes),
               bytes(scales, "scales", areas.num_scales * static_cast<size_t>(bits(areas.how.scale)) / 8),
               {needed(values, "values"), areas.num_values});
  });
}
