// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "core/binary.h"
#include "ops/epilogue.h"
#include "solvers/jit_cpu/kernel_text.h"

namespace attune::jit_cpu {

/// The operand along whose extent the vectors run. m: packed rows of x, the weights' elements are broadcast from their
/// place; n: packed weights, x's elements are broadcast.
enum class Across : uint8_t { m, n };

/// The unit that multiplies: vector registers with fp32 panels, or tile registers with panels of bf16 pairs.
enum class Engine : uint8_t { vectors, amx };

/// Compile-time parameters of a tile kernel. M, N and K are not among them.
struct TileSpec {
  VectorUnit unit;
  Engine engine = Engine::vectors;
  Across across = Across::m;
  DType panel = DType::fp32;  ///< Type of the panels' elements: fp32 for panels packed by the plan. With AMX always
                              ///< bf16.
  DType out = DType::fp32;
  Activation act = Activation::none;
  int rows = 1, vectors = 1;  ///< The register block; with AMX both count tiles of 16.
  int unroll = 1;             ///< Steps of k in the loop's body.
  /// Steps of k by which the rows (across n: the panels) are prefetched; 0: left to the hardware.
  int prefetch = 0;

  int tile_rows() const noexcept { return engine == Engine::amx ? kPanel * rows : rows; }
  int tile_columns() const noexcept { return (engine == Engine::amx ? kPanel : unit.lanes) * vectors; }
};
/// Exports `tile` (TileKernel).
CompileTask tile_task(const TileSpec& spec);
/// Like tile_task(), with AMX; the process must have requested permission for it from the system.
CompileTask amx_task(const TileSpec& spec);
/// Appends the part of a kernel's text that writes `sums` (rows × columns of fp32), with bias and activation, to the
/// destination in `t->out`.
void store_tile_text(TextWriter& writer, const TileSpec& spec);

struct DotSpec {
  VectorUnit unit;
  DType in = DType::fp32, out = DType::fp32;
  Activation act = Activation::none;
  int rows = 1, columns = 1;  ///< Rows of x times rows of the weights.
  int unroll = 1;
  int prefetch = 0;    ///< Elements of K by which the weights are prefetched; 0: left to the hardware.
  bool pairs = false;  ///< Pairs of bf16 are multiplied unchanged (AVX512-BF16); otherwise all elements are widened to
                       ///< fp32.

  int step() const noexcept { return pairs ? 2 * unit.lanes : unit.lanes; }  ///< Elements of K in a vector.
};
/// Exports `dot` (DotKernel).
CompileTask dot_task(const DotSpec& spec);

/// Exports `pack_rows`, `pack_columns` and `copy_rows` for operands of type `in`; with AVX-512 and bf16 also
/// `pair_rows` and `pair_columns`.
CompileTask pack_task(const VectorUnit& unit, DType in);

}  // namespace attune::jit_cpu
