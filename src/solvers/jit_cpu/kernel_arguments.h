// SPDX-License-Identifier: MIT
#pragma once

namespace attune::jit_cpu {

// The generated C declares the same structs with the same members in the same order (kArgumentsText): change both.
// Steps count elements. Sums are fp32. A tile's output is C[x·column_step + r·row_step], of which rows [row_begin,
// row_end) and columns [column_begin, column_end) are written: tiles at an edge are moved inwards and write only
// elements that no other tile writes.

/// Destination of a finished tile.
struct TileOutput {
  void* c;                     ///< Element (0, 0) of the tile.
  long row_step, column_step;  ///< One of the two is 1.
  long row_begin, row_end, column_begin, column_end;
  const float* bias;  ///< Null, or one value per row (across m) or column (across n) of the tile.
};

/// One call of a tile kernel: rows of one operand times panels of the other.
struct TileArguments {
  const void* panel;  ///< The group's first panel, at this block of k: [k][16], with AMX [k/2][16][2] bf16.
  long panel_step;    ///< Distance between panels.
  const void* row;    ///< First row, at this block of k: fp32, with AMX bf16.
  long row_step;
  const void* tail;  ///< AMX: the steps of k beyond the last 32, [rows][32] padded with zeros; null: there are none.
  long k;            ///< Steps of this block.
  float* partial;    ///< The tile's sums of earlier blocks; receives the new sums unless `last`.
  long first, last;
  TileOutput out;
};

/// One call of a dot kernel: rows of x times rows of the weights, along the whole of K.
struct DotArguments {
  const void* x;  ///< fp32, or bf16 for pairs; rows are padded with zeros to a multiple of a vector.
  long x_step;
  const void* w;
  long w_step;
  long k;
  TileOutput out;  ///< Rows are x's, columns the weights'; bias by column.
};

using TileKernel = void (*)(const TileArguments*);
using DotKernel = void (*)(const DotArguments*);
/// Packs up to 16 rows of a row-major operand, along K, into one panel: `extent` existing rows, zeros for the rest.
using PackRows = void (*)(const void* from, long step, long extent, long k, float* panel);
/// Like PackRows, for an operand that is stored K × extent.
using PackColumns = PackRows;
/// PackRows and PackColumns for AMX: pairs of bf16 along K, padded with zeros to a multiple of 32 steps. `panel`: bf16.
using PairRows = void (*)(const void* from, long step, long extent, long k, void* panel);
using PairColumns = PairRows;
/// Converts rows to fp32 and pads the last vector of each with zeros; `to_step` ≥ k rounded up to the lanes.
using CopyRows = void (*)(const void* from, long step, long rows, long k, float* to, long to_step);

inline constexpr const char* kArgumentsText =
    "struct out_args { void* c; long row_step, column_step, row_begin, row_end, column_begin, column_end;"
    " const float* bias; };\n"
    "struct tile_args { const void* panel; long panel_step; const void* row; long row_step; const void* tail; long k; "
    "float* partial;"
    " long first, last; struct out_args out; };\n"
    "struct dot_args { const void* x; long x_step; const void* w; long w_step; long k; struct out_args out; };\n";

}  // namespace attune::jit_cpu
