// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string_view>

#include "core/config.h"
#include "ops/gemm/gemm_shape.h"

namespace attune::jit_cuda {

/// Registers of a multiprocessor, of 32 bits.
inline constexpr int64_t kRegistersOfUnit = 64 << 10;

/// The least number of pieces of a size that cover a value. Both are positive.
inline int64_t num_pieces(int64_t value, int64_t size) noexcept { return (value + size - 1) / size; }

/// The three ways to compute a tile of C; README.md describes them.
enum class Kernel : uint8_t { dot, stream, tile };
inline constexpr std::string_view kKernels[] = {"dot", "stream", "tile"};

/// Who adds the sums of parts of k: the last block of a tile, or a second launch.
enum class Reduction : uint8_t { block, launch };
inline constexpr std::string_view kReductions[] = {"block", "launch"};

/// The layout of packed weights, the parameter `b_layout` of configs that read them (attune/tensor.h).
inline constexpr const char* kPackedLayout = "cuda.k64.v1";

/// A config as numbers; README.md has the parameters. Those of other kernels are 0. A value.
struct GemmConfig {
  Kernel kernel = Kernel::tile;
  int64_t rows = 0, columns = 0, warps = 0, depth_warps = 0, unroll = 0;                ///< dot, stream
  int64_t block_m = 0, block_n = 0, block_k = 0, stages = 0, m_warps = 0, n_warps = 0;  ///< tile
  int64_t group_m = 0;                                                                  ///< tile
  int64_t split_k = 1;
  int64_t blocks = 0;                      ///< tile: blocks that share the steps of all tiles (stream-K); 0: it is not.
  Reduction reduction = Reduction::block;  ///< Where split_k > 1.
  bool packed = false;                     ///< The weights are packed in the layout kPackedLayout.

  /// Throws invalid_input and not_found for a config that lacks a parameter, and for a value of another type or name.
  static GemmConfig of(const Config& config);
  /// of(text()) is the same.
  Config text() const;

  bool has_second_launch() const noexcept { return split_k > 1 && reduction == Reduction::launch; }
  int64_t tile_rows() const noexcept { return kernel == Kernel::tile ? block_m : rows; }
  int64_t tile_columns() const noexcept { return kernel == Kernel::tile ? block_n : columns * warps; }
  int64_t num_threads() const noexcept {
    return 32 * (kernel == Kernel::tile ? m_warps * n_warps : warps * depth_warps);
  }
  /// Steps of `tile`'s loop over k, summed over all tiles of a product.
  int64_t num_steps(const GemmShape& shape) const noexcept {
    return num_pieces(shape.m, tile_rows()) * num_pieces(shape.n, tile_columns()) * num_pieces(shape.k, k_multiple());
  }
  /// Shared memory of a block.
  int64_t shared_bytes() const noexcept;
  /// Elements of k that all parts but the last are a multiple of.
  int64_t k_multiple() const noexcept { return kernel == Kernel::tile ? block_k : kWarpChunk; }
  bool operator==(const GemmConfig&) const = default;

 private:
  static constexpr int64_t kWarpChunk = 256;  ///< What a warp of `dot` reads at once of 16-bit types.
};

/// Whether rows of the operands are no multiples of 16 bytes, so that vectors are put together from two.
bool has_shifted_rows(const GemmShape& shape) noexcept;

}  // namespace attune::jit_cuda
