// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>

namespace attune::jit_cpu_quantised {

// The generated C declares the same structs with the same members in the same order (kArgumentsText): change both.
// A block is `rows` rows of a in a copy, zeros behind each row: [K / kStep][rows][kStep] for a dot kernel,
// [K / in_lane][rows][in_lane] for a tile kernel. The last vector of a row holds zeros and then what remains of K.

/// One call of `product`: a block of a times some columns, over a part of K. Sums are modulo 2^32.
struct ProductArguments {
  const void* a;  ///< The block, at this part of K.
  /// dot: a row of b for each column, at this part of K. tile: panels of `lanes` columns, [K /
  /// in_lane][lanes][in_lane].
  const void* b;
  long b_step;    ///< dot: bytes between rows of b. tile: bytes between panels.
  long columns;   ///< dot: rows of b that exist; the last stands in for others.
  long k;         ///< dot: elements of this part. tile: elements, in whole vectors.
  long is_short;  ///< dot: all of K is shorter than a vector.
  int32_t* sums;  ///< [rows][sums_step]; all columns of the register block are written.
  long sums_step;
  long adds;  ///< Adds to the sums that are there.
  // Kernels with groups, at this part of K.
  const float* a_groups;  ///< [group][2][rows]: the scales, and as int32 where each sum starts.
  /// tile: by panel, [group][lanes], the scales as fp32. dot: the e8m0 of each row of b.
  const void* b_groups;
  long b_groups_step;  ///< tile: floats between panels. dot: bytes between rows.
};

/// One call of `pack`: a panel of a part of K.
struct PackArguments {
  const void* b;
  long b_step;
  long columns;  ///< Rows of b that exist, at most `lanes`; the last stands in for others.
  long k;
  long is_short;
  void* panel;  ///< Aligned to a vector.
};

/// One call of `pack_scales`: the e8m0 scales of the columns of a panel.
struct PackScalesArguments {
  const uint8_t* scales;  ///< A row for each column.
  long step;              ///< Bytes between rows.
  long columns;           ///< Rows that exist, at most `lanes`; the last stands in for others.
  long groups;
  float* panel;  ///< [groups, rounded up to 4][lanes]
};

/// One call of `finish`: c = sums · a_scale · b_scale + bias, in fp32, rounded once more to the type of c.
struct FinishArguments {
  const int32_t* sums;  ///< fp32 of floats.
  const int64_t* wide;  ///< Null, or exact sums that are used instead.
  long sums_step;
  const uint32_t* excess;  ///< By row: subtracted from each sum of the row; unused with `wide`.
  const float* a_scale;    ///< Unused if there are groups.
  long a_scale_step;       ///< 0: one scale for all rows.
  const float* b_scale;
  long b_scale_step;
  const void* bias;  ///< Null: none.
  void* c;
  long c_step;
  long rows, columns;
};

using Product = void (*)(const ProductArguments*);
using Pack = void (*)(const PackArguments*);
using Finish = void (*)(const FinishArguments*);
using PackScales = void (*)(const PackScalesArguments*);
/// Copies k elements of a row into its block, `to_step` elements between vectors (dot) or lanes (tile). Returns the
/// excess of the row's sums.
using CopyRow = uint32_t (*)(const void* from, long k, void* to, long to_step);

// A kernel of int8 does not know the members for groups.
inline constexpr const char* kArgumentsText =
    "struct product_args { const void* a; const void* b; long b_step, columns, k, is_short; int* sums; "
    "long sums_step, adds; };\n"
    "struct pack_args { const signed char* b; long b_step, columns, k, is_short; void* panel; };\n"
    "struct finish_args { const int* sums; const long* wide; long sums_step; const unsigned* excess; "
    "const float* a_scale; long a_scale_step; const float* b_scale; long b_scale_step; const void* bias; void* c; "
    "long c_step, rows, columns; };\n";
inline constexpr const char* kGroupArgumentsText =
    "struct group_args { const void* a; const void* b; long b_step, columns, k, is_short; float* sums; "
    "long sums_step, adds; const float* a_groups; const void* b_groups; long b_groups_step; };\n"
    "struct scale_args { const unsigned char* scales; long step, columns, groups; float* panel; };\n";

}  // namespace attune::jit_cpu_quantised
