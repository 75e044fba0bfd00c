// SPDX-License-Identifier: MIT
#include "solvers/jit_cuda/gemm_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "core/candidate.h"

namespace attune::jit_cuda {
namespace {

DeviceInfo gpu_for_test(int64_t units = 132, int64_t shared_bytes = 232448) {
  return {
      .id = "cuda:0", .kind = "cuda", .gfx = "sm_90", .num_units = units, .facts = {{"shared_bytes", shared_bytes}}};
}

GemmShape shape_for_test(int64_t m, int64_t n, int64_t k, DType type = DType::bf16) {
  return {.m = m, .n = n, .k = k, .in = type, .out = type};
}

GemmShape packed(GemmShape shape) {
  shape.packed = true;
  return shape;
}

const GemmShape kShapesForTest[] = {shape_for_test(1, 1024, 4096),
                                    shape_for_test(1, 1, 1),
                                    shape_for_test(3, 7, 5),
                                    shape_for_test(2, 32768, 512),
                                    shape_for_test(16, 8192, 28672),
                                    shape_for_test(8, 64, 4096),
                                    shape_for_test(24, 128, 7168),
                                    shape_for_test(64, 800, 5120),
                                    shape_for_test(333, 4099, 2057),
                                    shape_for_test(15658, 8192, 3072),
                                    shape_for_test(1, 64, 128, DType::fp32),
                                    shape_for_test(7, 33, 65, DType::fp32),
                                    shape_for_test(21, 70, 300, DType::fp16),
                                    shape_for_test(1, 31, 9, DType::fp16),
                                    shape_for_test(64, 64, 1, DType::fp32),
                                    shape_for_test(1, 1, 1, DType::fp32),
                                    packed(shape_for_test(1, 1024, 4096)),
                                    packed(shape_for_test(16, 8192, 28672)),
                                    packed(shape_for_test(333, 4099, 2057)),
                                    packed(shape_for_test(7, 33, 65, DType::fp32))};

const GemmConfig kTilesForTest = {
    .block_m = 128, .block_n = 128, .block_k = 64, .stages = 4, .m_warps = 2, .n_warps = 4, .group_m = 8};

std::string text_of(const GemmShape& shape) {
  return fmt::format("{}x{}x{}{}", shape.m, shape.n, shape.k, shape.packed ? " packed" : "");
}

TEST(JitCudaSpace, EveryStartIsOfTheSpaceAndThereIsOne) {
  for (const DeviceInfo& device : {gpu_for_test(), gpu_for_test(16, 101376)}) {
    for (const GemmShape& shape : kShapesForTest) {
      const SearchSpace space = gemm_space(shape, device);
      const auto starts = gemm_starts(shape, device);
      EXPECT_FALSE(starts.empty()) << text_of(shape);
      for (const GemmConfig& one : starts)
        EXPECT_TRUE(space.index_of(one.text()).has_value()) << text_of(shape) << " " << one.text().key();
    }
  }
}

TEST(JitCudaSpace, HasHundredsOfConfigsAndNotMoreThanASearchCanList) {
  for (const GemmShape& shape : kShapesForTest) {
    const uint64_t size = gemm_space(shape, gpu_for_test()).size();
    EXPECT_GT(size, 0u) << text_of(shape);
    EXPECT_LT(size, shape.packed ? 16000u : 8000u) << text_of(shape);
    if (shape.n >= 512 && shape.k >= 512) {
      EXPECT_GT(size, 200u) << text_of(shape);
    }
  }
}

/// Weights that are packed ahead may be read plain, too, so that packing has to pay; others are never packed.
TEST(JitCudaSpace, EachConfigIsOfferedForPackedWeightsAndForPlainOnes) {
  for (const GemmShape& shape : {shape_for_test(1, 1024, 4096), shape_for_test(16, 2048, 2049),
                                 shape_for_test(100, 300, 1000), shape_for_test(7, 33, 65, DType::fp32)}) {
    const SearchSpace plain = gemm_space(shape, gpu_for_test()), both = gemm_space(packed(shape), gpu_for_test());
    EXPECT_EQ(both.size(), 2 * plain.size()) << text_of(shape);
    for (uint64_t i = 0; i < plain.size(); i += 5) {
      GemmConfig config = GemmConfig::of(plain.at(i));
      EXPECT_FALSE(config.packed);
      EXPECT_TRUE(both.index_of(config.text()).has_value());
      config.packed = true;
      EXPECT_TRUE(both.index_of(config.text()).has_value());
      EXPECT_EQ(layout_of(config.text()), "cuda.k64.v1");
    }
    EXPECT_TRUE(gemm_starts(packed(shape), gpu_for_test()).front().packed);
  }
}

/// Tiles of 128×128 for 132 multiprocessors: a wave and one tile more, and exactly one wave.
TEST(JitCudaSpace, StepsAreSharedWhereWholeTilesLeaveMultiprocessorsIdle) {
  GemmConfig shares = kTilesForTest;
  shares.stages = 3;
  shares.blocks = 132;
  EXPECT_EQ(shares.text().key(),
            "block_k=64;block_m=128;block_n=128;blocks=132;group_m=8;kernel=tile;m_warps=2;n_warps=4;stages=3");
  EXPECT_EQ(GemmConfig::of(shares.text()), shares);
  const auto reason = [&](const GemmShape& shape, GemmConfig config) {
    const GemmRule* rule = broken_rule(config, shape, gpu_for_test());
    return rule == nullptr ? std::string() : std::string(rule->id);
  };
  const GemmShape one_more = shape_for_test(128 * 7, 128 * 19, 4096), whole = shape_for_test(128 * 12, 128 * 11, 4096);
  EXPECT_EQ(reason(one_more, shares), "");
  EXPECT_TRUE(gemm_space(one_more, gpu_for_test()).index_of(shares.text()).has_value());
  EXPECT_EQ(reason(whole, shares), "shares");
  // 24 tiles of 6 steps are 69 elements of K for each block.
  EXPECT_EQ(reason(shape_for_test(300, 1000, 384), shares), "shares");
  GemmConfig other = shares;
  other.blocks = 131;
  EXPECT_EQ(reason(one_more, other), "values");
  // A multiprocessor of 228 KiB holds the stages of two blocks of 96 KiB each, but not of 144 KiB.
  other = kTilesForTest;
  other.block_n = 64;
  other.n_warps = 2;
  other.blocks = 264;
  EXPECT_EQ(reason(one_more, other), "");
  other.stages = 6;
  EXPECT_EQ(reason(one_more, other), "resident");
  other = shares;
  other.block_m = 32;
  other.block_n = 64;
  other.m_warps = 1;
  EXPECT_EQ(reason(shape_for_test(500, 400, 4096), other), "shares") << "small tiles";
  // Stages of what a block reads of one tile: 16 tiles of 64 steps for 132 blocks are 8 steps.
  other = shares;
  other.stages = 4;
  EXPECT_EQ(reason(shape_for_test(512, 512, 4096), other), "");
  other.stages = 6;
  other.block_m = 64;
  other.m_warps = 1;
  EXPECT_EQ(reason(shape_for_test(128, 128, 8192), other), "stages");
}

TEST(JitCudaSpace, ATextIsReadBackAsTheSameConfig) {
  for (const GemmShape& shape :
       {shape_for_test(3, 512, 1024), shape_for_test(100, 300, 1000), packed(shape_for_test(9, 512, 1000))}) {
    const SearchSpace space = gemm_space(shape, gpu_for_test());
    for (uint64_t i = 0; i < space.size(); i += 7) {
      const Config config = space.at(i);
      EXPECT_EQ(GemmConfig::of(config).text(), config);
    }
  }
}

TEST(JitCudaSpace, RefusesATextThatLacksAParameterOrHasAnUnknownKernel) {
  EXPECT_THROW(GemmConfig::of(Config::parse("kernel=tile;block_m=16")), Error);
  EXPECT_THROW(GemmConfig::of(Config::parse("kernel=wgmma")), Error);
  EXPECT_THROW(GemmConfig::of(Config::parse("b_layout=host.k16.v1;kernel=dot;rows=1;columns=1;warps=4;depth_warps=1;"
                                            "unroll=1;split_k=1")),
               Error);
  EXPECT_THROW(GemmConfig::of(
                   Config::parse("kernel=dot;rows=1;columns=1;warps=4;depth_warps=1;unroll=1;split_k=2;reduce=atomic")),
               Error);
}

/// The memory of a block's stages, or of its tile, is what the kernels count (tile_kernel.cu).
TEST(JitCudaSpace, SharedMemoryHoldsTheStagesOrTheTile) {
  EXPECT_EQ(kTilesForTest.shared_bytes(), 4 * 256 * 128);
  GemmConfig wide = kTilesForTest;
  wide.block_n = 256;
  wide.block_k = 32;
  wide.stages = 2;
  EXPECT_EQ(wide.shared_bytes(), 128 * 264 * 4);
  const auto reason = [&](int64_t bytes) {
    const GemmRule* rule = broken_rule(kTilesForTest, shape_for_test(4096, 4096, 4096), gpu_for_test(132, bytes));
    return rule == nullptr ? std::string() : std::string(rule->id);
  };
  EXPECT_EQ(reason(4 * 256 * 128), "");
  EXPECT_EQ(reason(4 * 256 * 128 - 1), "shared");
}

TEST(JitCudaSpace, EveryRuleExcludesWhatNoOtherDoes) {
  std::set<std::string_view> alone;
  const int64_t values[] = {1, 3, 8, 16, 32, 64, 128};
  for (const GemmShape& shape :
       {shape_for_test(1, 70, 600), shape_for_test(24, 128, 7168), shape_for_test(200, 96, 333),
        shape_for_test(40, 64, 4096, DType::fp32), shape_for_test(512, 8192, 8192), shape_for_test(4, 1 << 30, 4096),
        shape_for_test(14000, 4096, 3072), shape_for_test(900, 2432, 4096), shape_for_test(1100, 2048, 1 << 30)}) {
    const auto look = [&](const GemmConfig& config) {
      std::string_view found;
      for (const GemmRule& rule : gemm_rules()) {
        if (rule.allows(config, shape, gpu_for_test(132, 101376))) continue;
        if (!found.empty()) return;
        found = rule.id;
      }
      if (!found.empty()) alone.insert(found);
    };
    for (const int64_t rows : values)
      for (const int64_t columns : values)
        for (const int64_t warps : {1, 2, 4, 8}) {
          look({.kernel = Kernel::dot,
                .rows = rows,
                .columns = columns,
                .warps = warps,
                .depth_warps = 1,
                .unroll = 1,
                .packed = true});
          for (const int64_t blocks : {132, 264})
            for (const int64_t stages : {2, 3, 6})
              look({.block_m = rows,
                    .block_n = columns * 2,
                    .block_k = 64,
                    .stages = stages,
                    .m_warps = 2,
                    .n_warps = warps,
                    .group_m = 1,
                    .blocks = blocks});
          for (const int64_t depth : {1, 2, 4, 8})
            for (const int64_t parts : {1, 16})
              for (const int64_t more : {1, 2, 8}) {
                look({.kernel = Kernel::dot,
                      .rows = rows,
                      .columns = columns,
                      .warps = warps,
                      .depth_warps = depth,
                      .unroll = more,
                      .split_k = parts});
                look({.kernel = Kernel::stream,
                      .rows = rows,
                      .columns = columns,
                      .warps = warps,
                      .depth_warps = depth,
                      .unroll = more,
                      .split_k = parts});
                look({.block_m = rows,
                      .block_n = columns * 2,
                      .block_k = depth * 16,
                      .stages = more == 1 ? 2 : 6,
                      .m_warps = more == 8 ? 2 : more,
                      .n_warps = warps,
                      .group_m = more == 1 ? 1 : 8,
                      .split_k = parts});
              }
        }
  }
  for (const GemmRule& rule : gemm_rules()) EXPECT_TRUE(alone.contains(rule.id)) << rule.id << " decides nothing";
}

}  // namespace
}  // namespace attune::jit_cuda
