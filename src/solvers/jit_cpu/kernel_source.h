// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "core/binary.h"
#include "solvers/jit_cpu/kernel_text.h"

namespace attune::jit_cpu {

/// Which operand's extent the vectors run across: m, packed rows of x, the weights' elements broadcast as they lie; n,
/// packed weights, x's elements broadcast.
enum class Across : uint8_t { m, n };

/// What multiplies: vector registers with fp32 panels, or tile registers with panels of bf16 pairs.
enum class Engine : uint8_t { vectors, amx };

/// What is fixed when a tile kernel is compiled. M, N and K are not.
struct TileSpec {
  VectorUnit unit;
  Engine engine = Engine::vectors;
  Across across = Across::m;
  DType panel = DType::fp32;  ///< Of the panels' elements: fp32 where they are packed here. With AMX always bf16.
  DType out = DType::fp32;
  int rows = 1, vectors = 1;  ///< The register block; with AMX both count tiles of 16.
  int unroll = 1;             ///< Steps of k in the loop's body.
  /// Steps of k the rows (across n: the panels) are fetched ahead; 0: left to the hardware.
  int prefetch = 0;

  int tile_rows() const noexcept { return engine == Engine::amx ? kPanel * rows : rows; }
  int tile_columns() const noexcept { return (engine == Engine::amx ? kPanel : unit.lanes) * vectors; }
};
/// Exports `tile` (TileKernel).
CompileTask tile_task(const TileSpec& spec);
/// The same with AMX; the process must have asked the system for it.
CompileTask amx_task(const TileSpec& spec);
/// Appends the part of a kernel's text that writes `sums` (rows × columns of fp32) to where `t->out` says.
void store_tile_text(TextWriter& writer, const TileSpec& spec);

struct DotSpec {
  VectorUnit unit;
  DType in = DType::fp32, out = DType::fp32;
  int rows = 1, columns = 1;  ///< Rows of x times rows of the weights.
  int unroll = 1;
  int prefetch = 0;    ///< Elements of K the weights are fetched ahead; 0: left to the hardware.
  bool pairs = false;  ///< Pairs of bf16 are multiplied as they lie (AVX512-BF16); otherwise all is widened to fp32.

  int step() const noexcept { return pairs ? 2 * unit.lanes : unit.lanes; }  ///< Elements of K in a vector.
};
/// Exports `dot` (DotKernel).
CompileTask dot_task(const DotSpec& spec);

/// Exports `pack_rows`, `pack_columns` and `copy_rows` for operands of type `in`; with AVX-512 and bf16 also
/// `pair_rows` and `pair_columns`.
CompileTask pack_task(const VectorUnit& unit, DType in);

}  // namespace attune::jit_cpu
