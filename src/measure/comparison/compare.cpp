// SPDX-License-Identifier: MIT
#include "measure/comparison/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "tensor/convert.h"
#include "tensor/rounding.h"

namespace attune {
namespace {

/// 1 − cos of the angle between output and reference; 1 if only one of them is zero.
double cosine_distance(double got_want, double got_got, double want_want) {
  const double norms = std::sqrt(got_got) * std::sqrt(want_want);
  if (norms > 0) return std::max(0.0, 1 - got_want / norms);
  return got_got == want_want ? 0 : 1;
}

}  // namespace

ElementBounds element_bounds(DType dtype, const Tolerance& tolerance) {
  const Rounding& rounding = Rounding::of(dtype);
  const bool has_infinity = dtype == DType::fp64 || dtype == DType::fp32 || dtype == DType::bf16 ||
                            dtype == DType::fp16 || dtype == DType::e5m2;
  const double overflow = has_infinity ? 1.01 * rounding.largest : std::numeric_limits<double>::infinity();
  return {tolerance.rtol, tolerance.atol, rounding.unit, rounding.step, rounding.largest, overflow};
}

OutputComparison comparison_of(const ComparisonPart& all, int64_t count, const PlaceOf& place) {
  OutputComparison result;
  result.errors.max_relative = all.max_relative;
  if (all.max_relative > 0) result.worst = place(all.worst);
  result.num_non_finite = all.num_non_finite;
  if (all.num_non_finite > 0) result.non_finite = place(all.first_non_finite);
  if (count > 0) result.errors.mismatch_ratio = static_cast<double>(all.num_mismatches) / static_cast<double>(count);
  result.errors.cosine = cosine_distance(all.got_want, all.got_got, all.want_want);
  return result;
}

OutputComparison compare(DType dtype, std::span<const std::byte> got, const Reference& reference, int64_t columns,
                         const Tolerance& tolerance) {
  const size_t count = reference.values.size();
  const auto element_bytes = static_cast<size_t>(bits(dtype)) / 8;
  ATTUNE_CHECK(got.size() == count * element_bytes && reference.scales.size() == count && columns > 0,
               "{} bytes against {} elements", got.size(), count);
  const ElementBounds bounds = element_bounds(dtype, tolerance);
  ComparisonPart all{};
  std::vector<double> values(std::min<size_t>(count, 4096));
  for (size_t start = 0; start < count; start += values.size()) {
    const std::span<double> chunk = std::span(values).first(std::min(values.size(), count - start));
    to_double(dtype, got.data() + start * element_bytes, chunk);
    for (size_t i = 0; i < chunk.size(); ++i)
      add(all, bounds, static_cast<int64_t>(start + i), chunk[i], reference.values[start + i],
          reference.scales[start + i]);
  }
  return comparison_of(all, static_cast<int64_t>(count), [&](int64_t index) {
    const auto at = static_cast<size_t>(index);
    Place place = {.row = index / columns, .column = index % columns, .want = reference.values[at]};
    to_double(dtype, got.data() + at * element_bytes, std::span(&place.got, 1));
    return place;
  });
}

}  // namespace attune
