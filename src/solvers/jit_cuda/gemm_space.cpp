// SPDX-License-Identifier: MIT
#include "solvers/jit_cuda/gemm_space.h"

#include <algorithm>
#include <array>
#include <limits>

namespace attune::jit_cuda {
namespace {

constexpr int64_t kWarp = 32, kMaxThreads = 512;
constexpr int64_t kDefaultSharedBytes = 99 << 10;  // Of the smallest GPU since 8.0, if the device does not report it.
constexpr int64_t kReservedBytes = 1 << 10;        // Of shared memory for each block, besides.
constexpr int64_t kMaxFewRows = 16;            // Rows of A up to which weights are worth streaming once for each 16.
constexpr int64_t kMaxDotRows = 64;            // Of fp32, which the tensor cores do not multiply exactly.
constexpr int64_t kUsedRegisters = 48;         // Of a thread for addresses and loops, by the assembler's reports.
constexpr int64_t kUsedRegistersOfDot = 80;    // It holds the unpacked elements besides.
constexpr int64_t kMaxRegisters = 255;         // Of a thread.
constexpr int64_t kLeastPart = 256;            // Elements of k in a part.
constexpr int64_t kManyTiles = 2;              // Per multiprocessor: then parts of k only cost.
constexpr int64_t kLeastSharedTile = 64 * 64;  // Smaller ones are many, and are divided by parts of k.
constexpr double kFullWave = 0.9;              // Of the blocks that run at once: then whole tiles keep all busy.
constexpr int64_t kMaxBlocks = 1 << 30;        // Kernels count tiles in 32 bits.
constexpr int64_t kMaxSharedSteps = std::numeric_limits<int32_t>::max();
constexpr int64_t kMaxSumBytes = 64 << 20;  // Of the parts' sums; each stream of a plan has its own.

constexpr std::array<int64_t, 5> kRows = {1, 2, 4, 8, 16};
constexpr std::array<int64_t, 5> kColumns = {1, 2, 4, 16, 32};
constexpr std::array<int64_t, 4> kPowers = {1, 2, 4, 8};
constexpr std::array<int64_t, 4> kBlockM = {16, 32, 64, 128};
constexpr std::array<int64_t, 4> kBlockN = {32, 64, 128, 256};
constexpr std::array<int64_t, 2> kBlockK = {32, 64};
constexpr std::array<int64_t, 4> kStages = {2, 3, 4, 6};
constexpr std::array<int64_t, 3> kTileWarps = {1, 2, 4};
constexpr std::array<int64_t, 2> kGroups = {1, 8};
constexpr std::array<int64_t, 7> kParts = {1, 2, 3, 4, 6, 8, 16};
constexpr std::array<int64_t, 2> kBlocksOfUnit = {1, 2};  // Where blocks share the steps of all tiles.

int64_t fact(const DeviceInfo& device, const char* name, int64_t otherwise) {
  const auto found = device.facts.find(name);
  return found != device.facts.end() && found->second > 0 ? found->second : otherwise;
}

int64_t num_units(const DeviceInfo& device) { return std::max<int64_t>(device.num_units, 1); }

int64_t num_tiles(const GemmConfig& config, const GemmShape& shape) {
  return num_pieces(shape.m, config.tile_rows()) * num_pieces(shape.n, config.tile_columns());
}

/// Blocks that are told in a config run at once; so many of them are on each multiprocessor.
int64_t blocks_of_unit(const GemmConfig& config, const DeviceInfo& device) {
  return num_pieces(config.blocks, num_units(device));
}

/// Elements of k that a block of `tile` reads one after another, of one tile.
int64_t length_of_part(const GemmConfig& config, const GemmShape& shape) {
  if (config.blocks == 0) return num_pieces(shape.k, config.split_k);
  return std::min(shape.k, num_pieces(config.num_steps(shape), config.blocks) * config.block_k);
}

/// Whether the last of the waves in which so many blocks compute whole tiles would leave multiprocessors idle.
bool has_short_wave(const GemmConfig& config, const GemmShape& shape) {
  const int64_t tiles = num_tiles(config, shape), waves = num_pieces(tiles, config.blocks);
  return static_cast<double>(tiles) < kFullWave * static_cast<double>(waves * config.blocks);
}

/// 32-bit registers that hold sums and what is loaded ahead.
int64_t held_registers(const GemmConfig& config) {
  constexpr int64_t kVector = 4;
  switch (config.kernel) {
    case Kernel::dot:
      return config.rows * config.columns + config.unroll * config.columns * kVector + 2 * 2 * kVector;
    case Kernel::stream:
      return config.rows * config.columns / kWarp + config.unroll * (config.columns / 8 + config.rows / 8) * kVector;
    case Kernel::tile: {
      const int64_t rows = config.block_m / config.m_warps, columns = config.block_n / config.n_warps;
      return rows * columns / kWarp + rows / 4 + columns / 4;
    }
  }
  return 0;
}

/// Registers of a thread.
int64_t used_registers(const GemmConfig& config, const GemmShape& shape) {
  // Rows that begin anywhere are put together of twice the vectors.
  const int64_t moved = !has_shifted_rows(shape) ? 0
                        : config.kernel == Kernel::tile
                            ? 2 * (config.block_m + config.block_n) * config.block_k / 8 / config.num_threads() * 4
                            : held_registers(config) / 2;
  return held_registers(config) + moved + (config.kernel == Kernel::dot ? kUsedRegistersOfDot : kUsedRegisters);
}

/// Elements of k that a block reads between two tests of its loop.
int64_t block_step(const GemmConfig& config, const GemmShape& shape) {
  if (config.kernel == Kernel::tile) return config.block_k;
  const int64_t of_warp = config.kernel == Kernel::stream ? kWarp : kWarp * (shape.in == DType::fp32 ? 4 : 8);
  return of_warp * config.depth_warps * config.unroll;
}

bool is_among(int64_t value, std::span<const int64_t> values) {
  return std::ranges::find(values, value) != values.end();
}

bool has_offered_values(const GemmConfig& config, const GemmShape&, const DeviceInfo& device) {
  if (!is_among(config.split_k, kParts)) return false;
  if (config.blocks != 0 &&
      (config.kernel != Kernel::tile || config.split_k != 1 || config.blocks % num_units(device) != 0 ||
       !is_among(config.blocks / num_units(device), kBlocksOfUnit)))
    return false;
  if (config.kernel == Kernel::tile)
    return is_among(config.block_m, kBlockM) && is_among(config.block_n, kBlockN) &&
           is_among(config.block_k, kBlockK) && is_among(config.stages, kStages) &&
           is_among(config.m_warps, kTileWarps) && is_among(config.n_warps, kTileWarps) &&
           is_among(config.group_m, kGroups);
  return is_among(config.rows, kRows) && is_among(config.columns, kColumns) && is_among(config.warps, kPowers) &&
         is_among(config.depth_warps, kPowers) && is_among(config.unroll, kPowers);
}

constexpr GemmRule kRules[] = {
    {"values", has_offered_values, "a value of a parameter is not offered"},
    {"layout", [](const GemmConfig& c, const GemmShape& s, const DeviceInfo&) { return !c.packed || s.packed; },
     "the weights are not packed ahead"},
    {"type",
     [](const GemmConfig& c, const GemmShape& s, const DeviceInfo&) {
       return c.kernel == Kernel::dot || s.in != DType::fp32;
     },
     "the tensor cores round fp32 to 11 bits"},
    {"unit",
     [](const GemmConfig& c, const GemmShape&, const DeviceInfo&) {
       return c.kernel == Kernel::tile ||
              (c.kernel == Kernel::dot ? c.rows <= 8 && c.columns <= 4 : c.rows >= 8 && c.columns >= 16);
     },
     "dot has at most 8×4 elements of C in a warp, stream 8×16 at least"},
    {"few_rows",
     [](const GemmConfig& c, const GemmShape& s, const DeviceInfo&) {
       return c.kernel == Kernel::tile || s.m <= (s.in == DType::fp32 ? kMaxDotRows : kMaxFewRows);
     },
     "so many rows of x would read the weights too often"},
    {"rows",
     [](const GemmConfig& c, const GemmShape& s, const DeviceInfo&) {
       const int64_t min = c.kernel == Kernel::dot ? 1 : c.kernel == Kernel::stream ? 8 : 16;
       return c.tile_rows() == min || c.tile_rows() < 2 * s.m;
     },
     "half of the tile's rows or more would be padding"},
    {"columns",
     [](const GemmConfig& c, const GemmShape& s, const DeviceInfo&) {
       const int64_t min = c.kernel == Kernel::dot ? 1 : c.kernel == Kernel::stream ? 16 : 32;
       return c.tile_columns() == min || c.tile_columns() < 2 * s.n;
     },
     "half of the tile's columns or more would be padding"},
    {"reads",
     [](const GemmConfig& c, const GemmShape& s, const DeviceInfo&) {
       return c.kernel == Kernel::tile || num_pieces(s.m, c.rows) <= (s.in == DType::fp32 ? 8 : 4);
     },
     "the weights would be read too often"},
    {"warp_tile",
     [](const GemmConfig& c, const GemmShape&, const DeviceInfo&) {
       if (c.kernel != Kernel::tile) return true;
       const int64_t rows = c.block_m / c.m_warps, columns = c.block_n / c.n_warps;
       return rows % 16 == 0 && columns % 16 == 0 && rows * columns <= 64 * 64;
     },
     "a warp computes 16×16 to 64×64 elements of C"},
    {"threads",
     [](const GemmConfig& c, const GemmShape&, const DeviceInfo&) {
       // The vectors that a thread of `tile` moves must lie 8 rows apart.
       const int64_t min = c.kernel == Kernel::tile ? std::max<int64_t>(c.block_k, 2 * kWarp) : kWarp;
       return c.num_threads() >= min && c.num_threads() <= kMaxThreads;
     },
     "a block has at most 512 threads, and for a tile 64 at least and one for each 16 bytes of eight rows"},
    {"loop",
     [](const GemmConfig& c, const GemmShape& s, const DeviceInfo&) {
       return c.kernel == Kernel::tile || (c.depth_warps == 1 && c.unroll == 1) || block_step(c, s) < 2 * s.k;
     },
     "half of the warps or more would have nothing to read"},
    {"shared",
     [](const GemmConfig& c, const GemmShape&, const DeviceInfo& d) {
       return c.shared_bytes() <= fact(d, "shared_bytes", kDefaultSharedBytes);
     },
     "a block's stages or sums do not fit into its shared memory"},
    {"registers",
     [](const GemmConfig& c, const GemmShape& s, const DeviceInfo&) {
       const int64_t of_thread = used_registers(c, s);
       return of_thread <= kMaxRegisters && of_thread * c.num_threads() <= kRegistersOfUnit;
     },
     "its sums and what is loaded ahead do not fit into registers"},
    {"stages",
     [](const GemmConfig& c, const GemmShape& s, const DeviceInfo&) {
       return c.kernel != Kernel::tile || c.stages == 2 ||
              (!has_shifted_rows(s) && c.stages * c.block_k < 2 * length_of_part(c, s));
     },
     "stages beyond the second would be empty, or are filled from registers"},
    {"group",
     [](const GemmConfig& c, const GemmShape& s, const DeviceInfo&) {
       return c.kernel != Kernel::tile || c.group_m == 1 || s.m > c.block_m;
     },
     "there is one row of tiles only"},
    {"parts",
     [](const GemmConfig& c, const GemmShape& s, const DeviceInfo& d) {
       return c.split_k == 1 || (s.k >= kLeastPart * c.split_k && num_tiles(c, s) < kManyTiles * num_units(d));
     },
     "the tiles are enough for the GPU, or the parts of k would be too short"},
    {"shares",
     [](const GemmConfig& c, const GemmShape& s, const DeviceInfo&) {
       return c.blocks == 0 || (c.block_m * c.block_n >= kLeastSharedTile && has_short_wave(c, s) &&
                                c.num_steps(s) * c.block_k >= kLeastPart * c.blocks);
     },
     "whole tiles keep all multiprocessors busy, or are small, or the blocks' shares would be too short"},
    {"steps",
     [](const GemmConfig& c, const GemmShape& s, const DeviceInfo&) {
       return c.blocks == 0 || c.num_steps(s) <= kMaxSharedSteps;
     },
     "blocks that share steps count them in 31 bits"},
    {"resident",
     [](const GemmConfig& c, const GemmShape& s, const DeviceInfo& d) {
       const int64_t beside = blocks_of_unit(c, d);
       // A multiprocessor has as much as one block may use, and what it keeps for itself.
       const int64_t there = fact(d, "shared_bytes", kDefaultSharedBytes) + kReservedBytes;
       return beside <= 1 || (beside * (c.shared_bytes() + kReservedBytes) <= there &&
                              beside * used_registers(c, s) * c.num_threads() <= kRegistersOfUnit);
     },
     "so many blocks do not fit on a multiprocessor"},
    {"tiles",
     [](const GemmConfig& c, const GemmShape& s, const DeviceInfo&) {
       return num_tiles(c, s) * c.split_k <= kMaxBlocks;
     },
     "a launch has at most 2^30 blocks"},
    {"part_sums",
     [](const GemmConfig& c, const GemmShape& s, const DeviceInfo&) {
       return (c.split_k == 1 || c.split_k * s.m * s.n * 4 <= kMaxSumBytes) &&
              2 * c.blocks * c.tile_rows() * c.tile_columns() * 4 <= kMaxSumBytes;
     },
     "the sums of the parts take more than 64 MiB"},
    {"work",
     [](const GemmConfig& c, const GemmShape& s, const DeviceInfo& d) {
       // Larger tiles pay only where there are enough of them, with the parts of k.
       if (c.kernel != Kernel::tile || c.blocks > 0 || (c.block_m == 16 && c.block_n == 32)) return true;
       return num_tiles(c, s) * c.split_k * 8 >= std::min(num_units(d), num_pieces(s.m, 16) * num_pieces(s.n, 32));
     },
     "most multiprocessors would have nothing to do"},
};

/// Calls `add` with the config for each layout that the weights may have, packed first. A kernel that reads them plain
/// competes with those of packed ones, so that packing has to pay.
template <typename Add>
void for_each_layout(const GemmShape& shape, GemmConfig config, const Add& add) {
  config.packed = true;
  if (shape.packed) add(config);
  config.packed = false;
  add(config);
}

/// Calls `add` with each config of the offered values.
template <typename Add>
void for_each(const GemmShape& shape, const DeviceInfo& device, const Add& add) {
  const auto split = [&](GemmConfig config) {
    for (const int64_t parts : kParts) {
      config.split_k = parts;
      config.reduction = Reduction::block;
      for_each_layout(shape, config, add);
      config.reduction = Reduction::launch;
      if (parts > 1) for_each_layout(shape, config, add);
    }
    if (config.kernel != Kernel::tile) return;
    config.split_k = 1;
    config.reduction = Reduction::block;
    for (const int64_t blocks : kBlocksOfUnit) {
      config.blocks = blocks * num_units(device);
      for_each_layout(shape, config, add);
    }
  };
  for (const Kernel kernel : {Kernel::dot, Kernel::stream}) {
    if (kernel == Kernel::stream && shape.in == DType::fp32) continue;
    for (const int64_t rows : kRows)
      for (const int64_t columns : kColumns)
        for (const int64_t warps : kPowers)
          for (const int64_t depth_warps : kPowers)
            for (const int64_t unroll : kPowers)
              split({.kernel = kernel,
                     .rows = rows,
                     .columns = columns,
                     .warps = warps,
                     .depth_warps = depth_warps,
                     .unroll = unroll});
  }
  if (shape.in == DType::fp32) return;
  for (const int64_t block_m : kBlockM)
    for (const int64_t block_n : kBlockN)
      for (const int64_t block_k : kBlockK)
        for (const int64_t stages : kStages)
          for (const int64_t m_warps : kTileWarps)
            for (const int64_t n_warps : kTileWarps)
              for (const int64_t group_m : kGroups)
                split({.block_m = block_m,
                       .block_n = block_n,
                       .block_k = block_k,
                       .stages = stages,
                       .m_warps = m_warps,
                       .n_warps = n_warps,
                       .group_m = group_m});
}

/// The first part counts that give the multiprocessors so many tiles, within what the rules allow.
GemmConfig with_parts(GemmConfig config, const GemmShape& shape, const DeviceInfo& device) {
  // Measured: with many parts a second launch is faster than the last block, which alone reads what all have written.
  config.reduction = Reduction::launch;
  for (const int64_t parts : kParts) {
    GemmConfig more = config;
    more.split_k = parts;
    if (broken_rule(more, shape, device) != nullptr) continue;
    config = more;
    if (num_tiles(config, shape) * parts >= num_units(device)) break;
  }
  return config;
}

/// Collects starts that the rules allow, each once.
class Starts {
 public:
  Starts(const GemmShape& shape, const DeviceInfo& device) : shape_(shape), device_(device) {}
  void add(const GemmConfig& config) {
    const GemmConfig divided = with_parts(config, shape_, device_);
    for_each_layout(shape_, divided, [&](const GemmConfig& one) {
      if (broken_rule(one, shape_, device_) == nullptr && std::ranges::find(found_, one) == found_.end())
        found_.push_back(one);
    });
  }
  /// With as many warps along K as leave each something to read.
  void add_rows(Kernel kernel, int64_t rows, int64_t columns, int64_t warps, int64_t depth_warps, int64_t unroll) {
    GemmConfig one = {.kernel = kernel,
                      .rows = rows,
                      .columns = columns,
                      .warps = warps,
                      .depth_warps = depth_warps,
                      .unroll = unroll};
    while (one.unroll > 1 && block_step(one, shape_) > shape_.k) one.unroll /= 2;
    while (one.depth_warps > 1 && block_step(one, shape_) > shape_.k) {
      one.depth_warps /= 2;
      one.warps = std::min<int64_t>(one.warps * 2, 8);
    }
    while (one.warps > 1 && one.tile_columns() >= 2 * shape_.n) one.warps /= 2;
    while (kernel == Kernel::dot && one.columns > 1 && one.tile_columns() >= 2 * shape_.n) one.columns /= 2;
    add(one);
  }
  void add_tile(int64_t block_m, int64_t block_n, int64_t stages, int64_t m_warps, int64_t n_warps) {
    add(tile(block_m, block_n, stages, m_warps, n_warps));
  }
  /// Large tiles whose steps are shared among one block for each multiprocessor. Its place is a guess.
  void add_shares() {
    GemmConfig one = tile(128, 128, 4, 2, 4);
    one.blocks = num_units(device_);
    add(one);
  }
  std::vector<GemmConfig> take() { return std::move(found_); }

 private:
  GemmConfig tile(int64_t block_m, int64_t block_n, int64_t stages, int64_t m_warps, int64_t n_warps) const {
    GemmConfig one = {.block_m = block_m,
                      .block_n = block_n,
                      .block_k = 64,
                      .stages = stages,
                      .m_warps = m_warps,
                      .n_warps = n_warps,
                      .group_m = shape_.m > block_m ? 8 : 1};
    if (has_shifted_rows(shape_)) one.stages = 2;
    while (one.stages > 2 && one.stages * one.block_k >= 2 * shape_.k) --one.stages;
    if (one.stages == 5) one.stages = 4;
    return one;
  }
  const GemmShape& shape_;
  const DeviceInfo& device_;
  std::vector<GemmConfig> found_;
};

}  // namespace

std::span<const GemmRule> gemm_rules() { return kRules; }

const GemmRule* broken_rule(const GemmConfig& config, const GemmShape& shape, const DeviceInfo& device) {
  for (const GemmRule& rule : kRules) {
    if (!rule.allows(config, shape, device)) return &rule;
  }
  return nullptr;
}

SearchSpace gemm_space(const GemmShape& shape, const DeviceInfo& device) {
  std::vector<Config> configs;
  for_each(shape, device, [&](const GemmConfig& config) {
    if (broken_rule(config, shape, device) == nullptr) configs.push_back(config.text());
  });
  return SearchSpace::listed(configs);
}

/// Ordered by what won on an H100 (docs/performance/gpu_speed.md).
std::vector<GemmConfig> gemm_starts(const GemmShape& shape, const DeviceInfo& device) {
  Starts starts(shape, device);
  const bool is_fp32 = shape.in == DType::fp32;
  if (shape.m == 1) {
    starts.add_rows(Kernel::dot, 1, 2, 1, 8, shape.k > 8192 ? 2 : 1);
    starts.add_rows(Kernel::dot, 1, 2, 4, 2, 1);
    starts.add_rows(Kernel::dot, 1, 4, 1, 8, 1);
    starts.add_rows(Kernel::dot, 1, 1, 4, 4, 2);
  } else if (shape.m <= 8 || is_fp32) {
    if (shape.m > 2) starts.add_rows(Kernel::dot, 4, 4, 1, 4, 1);
    starts.add_rows(Kernel::dot, 2, 2, 1, 4, 4);
    starts.add_rows(Kernel::dot, 2, 2, 4, 1, 4);
    if (shape.m > 4) starts.add_rows(Kernel::dot, 8, 2, 1, 4, 1);
  }
  const int64_t rows = shape.m <= 8 ? 8 : 16;
  starts.add_rows(Kernel::stream, rows, 32, 1, 8, 1);
  starts.add_rows(Kernel::stream, rows, 32, 1, 2, 4);
  starts.add_rows(Kernel::stream, rows, 16, 1, 8, 4);
  if (shape.m > 64) starts.add_tile(128, 128, 4, 2, 4);
  if (shape.m > 64) starts.add_tile(128, 64, 3, 2, 2);
  if (shape.m > 32) starts.add_tile(64, 128, 4, 2, 4);
  if (shape.m > 16) starts.add_tile(32, 128, 6, 1, 4);
  if (shape.m > 16) starts.add_tile(32, 64, 6, 1, 4);
  if (shape.m > 64) starts.add_shares();
  starts.add_tile(16, 64, 6, 1, 4);
  starts.add_tile(16, 32, 4, 1, 2);
  // For what is too small for all others.
  starts.add_rows(Kernel::dot, 1, 1, 1, 1, 1);
  return starts.take();
}

}  // namespace attune::jit_cuda
