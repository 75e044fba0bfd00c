// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <vector>

#include "core/config.h"
#include "core/device_info.h"
#include "core/space/search_space.h"
#include "ops/gemm/gemm_shape.h"

namespace attune::triton {

/// The parameters of a config, by the names that Triton's tuning script uses. A value.
struct GemmConfig {
  int64_t block_m = 0, block_n = 0, block_k = 0;  ///< `BLOCK_SIZE_M`, `_N`, `_K`: a program's tile.
  int64_t group_m = 1;                            ///< `GROUP_SIZE_M`: rows of tiles that are computed together.
  int64_t split_k = 1;                            ///< `SPLIT_K`: parts of K.
  int64_t num_warps = 4, num_stages = 3;
  /// Throws not_found for a parameter that is missing, invalid_input for one that is no number or less than 1.
  static GemmConfig of(const Config& config);
  /// of(text()) is the same.
  Config text() const;
  bool operator==(const GemmConfig&) const = default;
};

/// The least number of pieces of a size that cover a value. Both are positive.
inline int64_t num_pieces(int64_t value, int64_t size) noexcept { return (value + size - 1) / size; }

/// How a config divides a product.
struct Division {
  Division(const GemmShape& shape, const GemmConfig& config);
  int64_t num_tiles = 0;
  int64_t part_length = 0;  ///< Elements of K in each part but the last; a multiple of block_k.
  int64_t num_parts = 1;    ///< None is empty: there may be fewer than split_k.
  bool masks_k = false;     ///< A part ends within a block of K.
};

/// All values of the parameters, and the rules of a product on a GPU, NVIDIA's or AMD's. Needs no GPU.
SearchSpace gemm_space(const GemmShape& shape, const DeviceInfo& device);
/// Configs that are most often best for such a product, best first. All are of gemm_space(); there is one at least.
std::vector<Config> gemm_starts(const Problem& problem, const DeviceInfo& device);

}  // namespace attune::triton
