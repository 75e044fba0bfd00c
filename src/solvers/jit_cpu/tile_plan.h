// SPDX-License-Identifier: MIT
#pragma once
#include <memory>

#include "attune/plan.h"
#include "ops/gemm/gemm_op.h"
#include "solver/shared_library.h"
#include "solvers/jit_cpu/kernel_arguments.h"
#include "solvers/jit_cpu/kernel_source.h"

namespace attune::jit_cpu {

/// The outer one of the two loops over a block.
enum class Order : uint8_t {
  rows,   ///< A tile's rows stay in the L1 cache while panels pass.
  panels  ///< A group of panels stays there while rows pass.
};
/// The dimension that the threads divide.
enum class Split : uint8_t { rows, panels, k };

/// Parameters of the loops around a tile kernel. All are set at launch: one binary serves every setting.
struct TileLoops {
  TileSpec spec;
  int64_t k_block = 0;      ///< Steps of K between visits of a tile; 0: all of K.
  int64_t panel_block = 0;  ///< Panels visited for one tile's rows before the next; 0: all.
  Order order = Order::rows;
  Split split = Split::rows;
  bool copy = false;    ///< A tile's rows are copied (and widened to fp32) before use; with `packed`, all rows at the
                        ///< start.
  bool packed = false;  ///< The weights come in panels, and x's rows are broadcast.
  int threads = 1;
};

/// The compiled functions of a tile kernel and its packing; keeps their libraries open.
struct TileFunctions {
  SharedLibrary tile_library, pack_library;
  TileKernel tile;
  PackRows pack_rows;
  PackColumns pack_columns;
  CopyRows copy_rows;
  PairRows pair_rows;  ///< Null without AMX, like pair_columns.
  PairColumns pair_columns;
  TileFunctions(Engine engine, const std::filesystem::path& tile_file, const std::filesystem::path& pack_file);
};

/// A product by tiles: one operand is packed into panels (or already is: the layouts host.k16.v1 and, with AMX,
/// host.vnni2x16.v1), the other's rows are read in place or copied. All work, packing included, is inside run().
/// Reentrant with distinct workspaces.
std::unique_ptr<Plan> make_tile_plan(const GemmShape& shape, const TileLoops& loops, TileFunctions functions);

}  // namespace attune::jit_cpu
