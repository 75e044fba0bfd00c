// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "core/outcome.h"
#include "measure/comparison/comparison_part.h"
#include "ops/op.h"

namespace attune {

/// Position and values of an element.
struct Place {
  int64_t row = 0, column = 0;
  double got = 0, want = 0;
};

/// Result of comparing an output with its reference.
struct OutputComparison {
  /// mismatch_ratio counts elements outside rtol/atol and num_non_finite. max_relative is the largest error that
  /// rounding to the output's type does not explain, (|got − want| − u·|want|)⁺ over the reference's scale. So one
  /// bound of the form c·√K·eps serves fp32 and bf16 outputs alike. Only finite elements count for max_relative and for
  /// the cosine.
  Errors errors;
  Place worst;  ///< Element of max_relative.
  /// Elements with a wrong NaN or Inf: not finite although the type can hold the reference's value, or not the same NaN
  /// or Inf as the reference.
  uint64_t num_non_finite = 0;
  std::optional<Place> non_finite;  ///< The first of them.
};

/// `got`: row-major, `columns` wide, of a type of whole bytes; as many elements as the reference. One thread, about 3
/// ns per element.
OutputComparison compare(DType dtype, std::span<const std::byte> got, const Reference& reference, int64_t columns,
                         const Tolerance& tolerance);

/// Returns the bounds for elements of a type.
ElementBounds element_bounds(DType dtype, const Tolerance& tolerance);
/// Position and values of an element by its index.
using PlaceOf = std::function<Place(int64_t index)>;
/// Returns the result for an output of `count` elements; `all` is the part of all of them.
OutputComparison comparison_of(const ComparisonPart& all, int64_t count, const PlaceOf& place);

}  // namespace attune
