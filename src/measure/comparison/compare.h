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
  /// rounding to the output's type does not explain, (|got − want| − u·|want|)⁺ over the reference's scale: so one
  /// bound of the form c·√K·eps serves fp32 and bf16 outputs alike. Only finite elements count for it and for the
  /// cosine.
  Errors errors;
  Place worst;  ///< Element of max_relative.
  /// Elements that are not finite although the reference has a value that the type can hold, or not NaN or Inf in the
  /// way that the reference is.
  uint64_t num_non_finite = 0;
  std::optional<Place> non_finite;  ///< The first of them.
};

/// `got`: row-major, `columns` wide, of a type of whole bytes; as many elements as the reference. One thread, about 3
/// ns per element.
OutputComparison compare(DType dtype, std::span<const std::byte> got, const Reference& reference, int64_t columns,
                         const Tolerance& tolerance);

/// What elements of a type are held against.
ElementBounds element_bounds(DType dtype, const Tolerance& tolerance);
/// Position and values of an element by its index.
using PlaceOf = std::function<Place(int64_t index)>;
/// Returns what `all`, found in all of `count` elements, says of the output.
OutputComparison comparison_of(const ComparisonPart& all, int64_t count, const PlaceOf& place);

}  // namespace attune
