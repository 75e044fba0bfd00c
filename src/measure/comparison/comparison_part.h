// SPDX-License-Identifier: MIT
// Read by the C++ compiler and by kernel compilers.
#pragma once
#include <cmath>
#include <cstdint>

#include "tensor/kernel_text.h"

namespace attune {

/// Bounds for an element of an output.
struct ElementBounds {
  double rtol, atol;           ///< See Tolerance.
  double unit, step, largest;  ///< See Rounding.
  double overflow;  ///< An element above this is infinite, one above 0.98 of it may be. Infinite: the type has no Inf.
};

/// Sums over some elements of an output. Starts all zero.
struct ComparisonPart {
  double got_want, got_got, want_want;
  double max_relative;       ///< See OutputComparison::errors.
  int64_t worst;             ///< The first element of max_relative, if that is above 0.
  int64_t first_non_finite;  ///< Valid if num_non_finite is above 0.
  uint64_t num_mismatches, num_non_finite;
};

/// Adds an element. The elements of a part are added in order. An element must be NaN where the reference is, and the
/// same Inf where the reference is Inf or overflows the type. An element with a negative scale is skipped (see
/// Reference).
ATTUNE_EVERYWHERE inline void add(ComparisonPart& part, const ElementBounds& bounds, int64_t index, double got,
                                  double want, double scale) {
  if (scale < 0) return;
  const double size = std::fabs(want);
  if (!std::isfinite(got) || std::isnan(want) || size > bounds.overflow) {
    bool is_right = std::isinf(got) && (got > 0) == (want > 0) && size > 0.98 * bounds.overflow;
    if (std::isnan(want)) is_right = std::isnan(got);
    if (std::isinf(bounds.overflow)) is_right = size > bounds.largest;
    if (is_right) return;
    ++part.num_mismatches;
    if (part.num_non_finite++ == 0) part.first_non_finite = index;
    return;
  }
  const double error = std::fabs(got - want);
  if (error > bounds.atol + bounds.rtol * std::fabs(want)) ++part.num_mismatches;
  part.got_want += got * want;
  part.got_got += got * got;
  part.want_want += want * want;
  const double unexplained = error - bounds.unit * std::fabs(want) - bounds.step;
  if (unexplained <= 0) return;
  const double relative = unexplained / scale;  // infinite where the scale is zero
  if (!(relative > part.max_relative)) return;
  part.max_relative = relative;
  part.worst = index;
}

/// Adds a part of other elements.
ATTUNE_EVERYWHERE inline void add(ComparisonPart& part, const ComparisonPart& other) {
  part.got_want += other.got_want;
  part.got_got += other.got_got;
  part.want_want += other.want_want;
  part.num_mismatches += other.num_mismatches;
  if (other.num_non_finite > 0 && (part.num_non_finite == 0 || other.first_non_finite < part.first_non_finite))
    part.first_non_finite = other.first_non_finite;
  part.num_non_finite += other.num_non_finite;
  const bool is_equal = other.max_relative == part.max_relative;
  if (!(other.max_relative > part.max_relative) && !(is_equal && other.worst < part.worst)) return;
  part.max_relative = other.max_relative;
  part.worst = other.worst;
}

}  // namespace attune
