// SPDX-License-Identifier: MIT
#include "measure/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "tensor/convert.h"

namespace attune {
namespace {

/// Values beyond it may be infinite even when rounded correctly.
double largest_finite(DType dtype) {
  switch (dtype) {
    case DType::fp16:
      return 65504;
    case DType::fp64:
      return std::numeric_limits<double>::max();
    default:
      return 3.38e38;  // fp32 and bf16
  }
}

/// Largest rounding error of the type near zero, where its numbers have a fixed spacing.
double smallest_step(DType dtype) { return dtype == DType::fp16 ? 0x1p-25 : 0x1p-134; }

struct Sums {
  double got_want = 0, got_got = 0, want_want = 0;
  uint64_t mismatches = 0;
};

}  // namespace

OutputComparison compare(DType dtype, std::span<const std::byte> got, const Reference& reference, int64_t columns,
                         const Tolerance& tolerance) {
  const size_t count = reference.values.size();
  const auto element_bytes = static_cast<size_t>(bits(dtype)) / 8;
  ATTUNE_CHECK(got.size() == count * element_bytes && reference.scales.size() == count && columns > 0,
               "{} bytes against {} elements", got.size(), count);
  const double rounding = unit_roundoff(dtype), limit = largest_finite(dtype), step = smallest_step(dtype);
  OutputComparison result;
  Sums sums;
  std::vector<float> values(std::min<size_t>(count, 4096));
  for (size_t start = 0; start < count; start += values.size()) {
    const std::span<float> chunk = std::span(values).first(std::min(values.size(), count - start));
    to_float(dtype, got.data() + start * element_bytes, chunk);
    for (size_t i = 0; i < chunk.size(); ++i) {
      const double value = chunk[i], want = reference.values[start + i];
      if (!std::isfinite(value)) {
        if (std::abs(want) > limit) continue;
        ++sums.mismatches;
        const auto index = static_cast<int64_t>(start + i);
        if (result.num_non_finite++ == 0) result.non_finite = Place{index / columns, index % columns, value, want};
        continue;
      }
      const double error = std::abs(value - want);
      if (error > tolerance.atol + tolerance.rtol * std::abs(want)) ++sums.mismatches;
      sums.got_want += value * want;
      sums.got_got += value * value;
      sums.want_want += want * want;
      const double unexplained = error - rounding * std::abs(want) - step;
      if (unexplained <= result.errors.max_relative * reference.scales[start + i]) continue;
      const auto index = static_cast<int64_t>(start + i);
      result.errors.max_relative = unexplained / reference.scales[start + i];  // infinite where the scale is zero
      result.worst = {index / columns, index % columns, value, want};
    }
  }
  result.errors.mismatch_ratio = count == 0 ? 0 : static_cast<double>(sums.mismatches) / static_cast<double>(count);
  const double norms = std::sqrt(sums.got_got) * std::sqrt(sums.want_want);
  if (norms > 0)
    result.errors.cosine = std::max(0.0, 1 - sums.got_want / norms);
  else
    result.errors.cosine = sums.got_got == sums.want_want ? 0 : 1;
  return result;
}

}  // namespace attune
