// SPDX-License-Identifier: MIT
#include "measure/compare.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "tensor/convert.h"
#include "tensor/rounding.h"

namespace attune {
namespace {

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
  const Rounding& rounding = Rounding::of(dtype);
  OutputComparison result;
  Sums sums;
  std::vector<double> values(std::min<size_t>(count, 4096));
  for (size_t start = 0; start < count; start += values.size()) {
    const std::span<double> chunk = std::span(values).first(std::min(values.size(), count - start));
    to_double(dtype, got.data() + start * element_bytes, chunk);
    for (size_t i = 0; i < chunk.size(); ++i) {
      const double value = chunk[i], want = reference.values[start + i];
      if (!std::isfinite(value)) {
        if (std::abs(want) > rounding.largest) continue;
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
      const double unexplained = error - rounding.unit * std::abs(want) - rounding.step;
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
