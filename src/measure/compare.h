// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/outcome.h"
#include "ops/op.h"

namespace attune {

/// Where an element lies and what it is.
struct Place {
  int64_t row = 0, column = 0;
  double got = 0, want = 0;
};

/// An output against its reference.
struct Comparison {
  /// mismatch_ratio counts what is outside rtol/atol or not finite. max_relative is the largest error that rounding to
  /// the output's type does not explain, (|got − want| − u·|want|)⁺ over the reference's scale: so one bound of the
  /// form c·√K·eps serves fp32 and bf16 outputs alike. Only finite elements count for it and for the cosine.
  Errors errors;
  Place worst;                      ///< Of max_relative.
  uint64_t num_non_finite = 0;      ///< Where the reference has a value that the type can hold.
  std::optional<Place> non_finite;  ///< The first.
};

/// `got`: row-major, `columns` wide, of a float type; as many elements as the reference. One thread, about 3 ns each.
Comparison compare(DType dtype, std::span<const std::byte> got, const Reference& reference, int64_t columns,
                   const Tolerance& tolerance);

}  // namespace attune
