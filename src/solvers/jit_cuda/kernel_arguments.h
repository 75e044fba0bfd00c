// SPDX-License-Identifier: MIT
#pragma once

namespace attune::jit_cuda {

/// What a launch tells a kernel of this folder. The text of each kernel begins with this header, so it includes none.
/// C = A·Bᵀ (+ bias), row-major, A m×k, B n×k or packed, all at multiples of 16 bytes. A block computes one tile of C
/// over one part of k; parts are multiples of what the kernel reads at a time, the last one may be shorter, none is
/// empty. Of stream-K it computes an equal share of all tiles.
struct KernelArguments {
  const void* a;
  const void* b;
  const void* bias;  ///< n elements of A's type, or null.
  void* c;
  float* sums;  ///< num_parts × m × n, where num_parts > 1: what each part contributes to C. Of stream-K two tiles for
                ///< each block (tile_shares.cu).
  unsigned*
      counters;  ///< One for each tile, zero, and left zero: its last block adds the parts. Null: a second launch.
  int m, n, k;
  int num_parts, part_length;  ///< Parts of k, and the elements of each but the last.
  int group;                   ///< Rows of tiles that are computed together, so that they share B in the cache.
};

}  // namespace attune::jit_cuda
