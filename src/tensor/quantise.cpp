// SPDX-License-Identifier: MIT
#include "attune/quantise.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "tensor/convert.h"
#include "tensor/rounding.h"

namespace attune {
namespace {

constexpr int kMxfp4Depth = 32;

/// Where the elements and scales of a matrix are.
struct QuantisedPlaces {
  int64_t rows, k, group_rows, group_depth;

  explicit QuantisedPlaces(const QuantisedMatrix& how)
      : rows(how.rows),
        k(how.k),
        group_rows(how.group_rows == 0 ? how.rows : std::min(how.group_rows, how.rows)),
        group_depth(how.group_depth == 0 ? how.k : std::min(how.group_depth, how.k)) {}
  int64_t num_columns() const { return (k + group_depth - 1) / group_depth; }
  int64_t num_scales() const { return (rows + group_rows - 1) / group_rows * num_columns(); }
  /// Calls `visit(scale, row, begin, end)` for each part of a row that has one scale, row by row.
  template <typename Visit>
  void for_each_part(Visit visit) const {
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < num_columns(); ++column)
        visit(static_cast<size_t>(row / group_rows * num_columns() + column), row, column * group_depth,
              std::min(k, (column + 1) * group_depth));
    }
  }
};

void check(const QuantisedMatrix& how, size_t num_values, size_t element_bytes, size_t scale_bytes) {
  if (how.dtype != DType::int8 && how.dtype != DType::e4m3fn && how.dtype != DType::e4m3fnuz &&
      how.dtype != DType::e2m1)
    fail(ErrorCode::invalid_input, "quantised elements are int8, e4m3fn, e4m3fnuz or e2m1, got {}", name(how.dtype));
  if (how.scale != DType::fp32 && how.scale != DType::e8m0)
    fail(ErrorCode::invalid_input, "scales are fp32 or e8m0, got {}", name(how.scale));
  if (how.rows < 1 || how.k < 1 || how.group_rows < 0 || how.group_depth < 0 ||
      how.rows > std::numeric_limits<int64_t>::max() / 8 / how.k)
    fail(ErrorCode::invalid_input, "a quantised matrix has at least one row and column, got {}×{} in groups of {}×{}",
         how.rows, how.k, how.group_rows, how.group_depth);
  const QuantisedPlaces places(how);
  const auto need = [](const char* what, size_t wanted, size_t got) {
    if (got != wanted) fail(ErrorCode::invalid_input, "{} needs {} bytes, got {}", what, wanted, got);
  };
  need("the matrix of floats", static_cast<size_t>(how.rows * how.k) * sizeof(float), num_values * sizeof(float));
  need("the matrix of elements",
       static_cast<size_t>(how.rows) * stored_bytes(bits(how.dtype), static_cast<size_t>(how.k)), element_bytes);
  need("the scales", static_cast<size_t>(places.num_scales() * bits(how.scale) / 8), scale_bytes);
}

/// The largest finite magnitude of each group; NaN where `keeps_nan` and the group has one.
std::vector<float> largest_of_groups(const QuantisedPlaces& places, std::span<const float> values, bool keeps_nan) {
  std::vector<float> largest(static_cast<size_t>(places.num_scales()));
  places.for_each_part([&](size_t scale, int64_t row, int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const float value = std::abs(values[static_cast<size_t>(row * places.k + at)]);
      if (keeps_nan && std::isnan(value)) largest[scale] = value;
      // A NaN that is kept compares as not smaller.
      if (std::isfinite(value) && value > largest[scale]) largest[scale] = value;
    }
  });
  return largest;
}

/// Writes the elements: values over their scales, which are those of `scales`.
void write_elements(const QuantisedMatrix& how, std::span<const float> values, std::span<const float> scales,
                    std::span<std::byte> elements) {
  const QuantisedPlaces places(how);
  const auto limit = static_cast<float>(Rounding::of(how.dtype).largest);
  const size_t k = static_cast<size_t>(how.k), bytes = stored_bytes(bits(how.dtype), k);
  std::vector<float> row(k);
  places.for_each_part([&](size_t scale, int64_t number, int64_t begin, int64_t end) {
    for (int64_t at = begin; at < end; ++at) {
      const float value = values[static_cast<size_t>(number * how.k + at)] / scales[scale];
      row[static_cast<size_t>(at)] = std::isnan(value) ? value : std::clamp(value, -limit, limit);
    }
    if (end == how.k) from_float(how.dtype, row, elements.data() + static_cast<size_t>(number) * bytes);
  });
}

void quantise_floats(const QuantisedMatrix& how, std::span<const float> values, std::span<std::byte> elements,
                     std::span<float> scales) {
  if (how.dtype == DType::e2m1)
    fail(ErrorCode::invalid_input, "elements of e2m1 have e8m0 scales, use quantise_mxfp4()");
  check(how, values.size(), elements.size(), scales.size_bytes());
  const auto limit = static_cast<float>(Rounding::of(how.dtype).largest);
  const auto largest = largest_of_groups(QuantisedPlaces(how), values, false);
  for (size_t i = 0; i < largest.size(); ++i) scales[i] = largest[i] == 0 ? 1 : std::max(largest[i] / limit, FLT_MIN);
  write_elements(how, values, scales, elements);
}

/// The e8m0 code of a group's power of two.
uint8_t exponent_code(float largest, ExponentRounding rounding) {
  if (std::isnan(largest)) return 255;
  if (largest == 0) return 127;
  int exponent = std::ilogb(largest) - 2;
  if (rounding == ExponentRounding::rceil && largest > std::ldexp(6.0, exponent)) ++exponent;
  return static_cast<uint8_t>(std::clamp(exponent, -127, 127) + 127);
}

}  // namespace

void quantise_rows(DType dtype, int64_t rows, int64_t k, std::span<const float> values, std::span<std::byte> elements,
                   std::span<float> scales) {
  quantise_floats({.dtype = dtype, .rows = rows, .k = k}, values, elements, scales);
}

void quantise_tensor(DType dtype, int64_t rows, int64_t k, std::span<const float> values, std::span<std::byte> elements,
                     float& scale) {
  quantise_floats({.dtype = dtype, .rows = rows, .k = k, .group_rows = 0}, values, elements, {&scale, 1});
}

void quantise_blocks(DType dtype, int64_t rows, int64_t k, int64_t block_rows, int64_t block_depth,
                     std::span<const float> values, std::span<std::byte> elements, std::span<float> scales) {
  if (block_rows < 1 || block_depth < 1)
    fail(ErrorCode::invalid_input, "a block has at least one row and column, got {}×{}", block_rows, block_depth);
  quantise_floats({.dtype = dtype, .rows = rows, .k = k, .group_rows = block_rows, .group_depth = block_depth}, values,
                  elements, scales);
}

void quantise_mxfp4(int64_t rows, int64_t k, ExponentRounding rounding, std::span<const float> values,
                    std::span<std::byte> elements, std::span<std::byte> scales) {
  const QuantisedMatrix how{
      .dtype = DType::e2m1, .scale = DType::e8m0, .rows = rows, .k = k, .group_depth = kMxfp4Depth};
  check(how, values.size(), elements.size(), scales.size());
  const auto largest = largest_of_groups(QuantisedPlaces(how), values, true);
  for (size_t i = 0; i < largest.size(); ++i) scales[i] = static_cast<std::byte>(exponent_code(largest[i], rounding));
  std::vector<float> powers(largest.size());
  to_float(DType::e8m0, scales.data(), powers);
  write_elements(how, values, powers, elements);
}

void dequantise(const QuantisedMatrix& how, std::span<const std::byte> elements, std::span<const std::byte> scales,
                std::span<float> values) {
  check(how, values.size(), elements.size(), scales.size());
  const QuantisedPlaces places(how);
  std::vector<float> wide(static_cast<size_t>(places.num_scales())), row(static_cast<size_t>(how.k));
  to_float(how.scale, scales.data(), wide);
  const size_t bytes = stored_bytes(bits(how.dtype), row.size());
  places.for_each_part([&](size_t scale, int64_t number, int64_t begin, int64_t end) {
    if (begin == 0) to_float(how.dtype, elements.data() + static_cast<size_t>(number) * bytes, row);
    for (int64_t at = begin; at < end; ++at)
      values[static_cast<size_t>(number * how.k + at)] = row[static_cast<size_t>(at)] * wide[scale];
  });
}

}  // namespace attune
