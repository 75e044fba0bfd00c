// SPDX-License-Identifier: MIT
#include "solvers/triton/gemm_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "ops/op.h"
#include "search/prune.h"
#include "solvers/triton/gemm_rules.h"
#include "solvers/triton/kernel_tasks.h"

namespace attune::triton {
namespace {

using testing::Contains;

const DeviceInfo kTritonGpus[] = {
    {.id = "cuda:0", .kind = "cuda", .gfx = "sm_90", .num_units = 132, .facts = {{"shared_bytes", 232448}}},
    {.id = "cuda:0", .kind = "cuda", .gfx = "sm_86", .num_units = 16, .facts = {{"shared_bytes", 101376}}}};

Problem triton_problem(const std::string& text) {
  return op_of(Problem::parse(text)).normalise(Problem::parse(text), kTritonGpus[0]);
}

SearchSpace triton_space(const std::string& text, const DeviceInfo& gpu = kTritonGpus[0]) {
  return gemm_space(GemmShape::of(triton_problem(text)), gpu);
}

const char* const kTritonProblems[] = {
    "gemm_a16w16 m=4864 n=4096 k=4096 dtype=fp16",   "gemm_a16w16 m=16 n=13312 k=16384 dtype=bf16",
    "gemm_a16w16 m=333 n=1000 k=1024 dtype=bf16",    "gemm_a16w16 m=1 n=1 k=1 dtype=fp32",
    "gemm_a16w16 m=1 n=8192 k=28672 dtype=fp16",     "gemm_a16w16 m=2047 n=2047 k=4096 dtype=bf16",
    "gemm_a16w16 m=16 n=16 k=16 dtype=fp16",         "gemm_a16w16 m=15658 n=8192 k=3072 dtype=bf16 trans_b=0",
    "gemm_a16w16 m=7 n=33 k=65 dtype=fp32 trans_a=1"};

TEST(TritonSpace, EveryStartIsOfTheSpaceAndThereIsOne) {
  for (const DeviceInfo& gpu : kTritonGpus) {
    for (const char* text : kTritonProblems) {
      const Problem problem = triton_problem(text);
      const auto starts = gemm_starts(problem, gpu);
      EXPECT_FALSE(starts.empty()) << text;
      for (const Config& config : starts) {
        EXPECT_EQ(why_outside(triton_space(text, gpu), config, problem, gpu), std::nullopt) << text;
        EXPECT_EQ(GemmConfig::of(config).text(), config);
      }
    }
  }
}

const DeviceInfo kAmdGpu = {
    .id = "hip:0", .kind = "hip", .gfx = "gfx942", .num_units = 304, .facts = {{"shared_bytes", 65536}}};

uint64_t num_allowed(const GemmShape& shape, const DeviceInfo& gpu, std::string_view set) {
  const Problem problem =
      Problem::parse(fmt::format("gemm_a16w16 m={} n={} k={} dtype=fp16", shape.m, shape.n, shape.k));
  return prune(gemm_space(shape, gpu).with_rule_set(set), op_of(problem).normalise(problem, gpu), gpu, 0)
      .allowed.size();
}

GemmShape square(int64_t size) { return {.m = size, .n = size, .k = size, .in = DType::fp16, .out = DType::fp16}; }

/// The counts follow from the script's code (ROCm/triton, tune_gemm.py, version 3.4), evaluated independently.
TEST(TritonSpace, TheScriptsRulesLeaveTheScriptsConfigs) {
  struct Counted {
    int64_t m, n, k;
    uint64_t amd, nvidia;
  };
  for (const Counted& one :
       {Counted{8192, 8192, 8192, 672, 1176}, Counted{4864, 4096, 8256, 648, 1122},
        Counted{1024, 1024, 1024, 6224, 11040}, Counted{512, 512, 512, 5112, 9256}, Counted{1, 8192, 28672, 880, 2400},
        Counted{32, 16384, 53248, 4200, 9520}, Counted{2047, 2047, 4096, 6224, 11040}, Counted{16, 16, 16, 40, 100}}) {
    GemmShape shape = square(one.m);
    shape.n = one.n;
    shape.k = one.k;
    EXPECT_EQ(num_allowed(shape, kAmdGpu, kScriptRules), one.amd) << one.m << ' ' << one.n << ' ' << one.k;
    EXPECT_EQ(num_allowed(shape, kTritonGpus[0], kScriptRules), one.nvidia) << one.m << ' ' << one.n << ' ' << one.k;
  }
  EXPECT_EQ(gemm_space(square(1024), kAmdGpu).size(), 132'000u);
  EXPECT_EQ(gemm_space(square(1024), kTritonGpus[0]).size(), 165'000u);
  EXPECT_EQ(num_allowed(square(8192), kAmdGpu, kScriptV2Rules), 528u);
  EXPECT_EQ(num_allowed(square(1024), kTritonGpus[0], kScriptV2Rules), 9208u);
}

/// One more row, column or element of K changes the number of configs by half at most. The sizes are those at which a
/// larger tile, more groups or more parts begin to be allowed.
TEST(TritonSpace, TheDefaultRulesHaveNoCliffBetweenNeighbouringSizes) {
  struct Step {
    GemmShape shape;
    int64_t GemmShape::*extent;
    const DeviceInfo& gpu;
  };
  for (const Step& step : {Step{{.m = 9, .n = 7168, .k = 2048}, &GemmShape::m, kTritonGpus[0]},
                           Step{{.m = 16, .n = 7168, .k = 2048}, &GemmShape::m, kTritonGpus[0]},
                           Step{{.m = 32, .n = 7168, .k = 2048}, &GemmShape::m, kTritonGpus[0]},
                           Step{{.m = 1024, .n = 16, .k = 1024}, &GemmShape::n, kTritonGpus[0]},
                           Step{{.m = 128, .n = 512, .k = 255}, &GemmShape::k, kTritonGpus[0]},
                           Step{{.m = 128, .n = 512, .k = 256}, &GemmShape::k, kTritonGpus[1]},
                           Step{{.m = 2047, .n = 2048, .k = 2048}, &GemmShape::m, kTritonGpus[0]},
                           Step{{.m = 9, .n = 7168, .k = 2048}, &GemmShape::m, kAmdGpu},
                           Step{{.m = 16, .n = 7168, .k = 2048}, &GemmShape::m, kAmdGpu}}) {
    GemmShape next = step.shape;
    ++(next.*step.extent);
    const auto here = static_cast<double>(num_allowed(step.shape, step.gpu, kAttuneRules));
    const auto there = static_cast<double>(num_allowed(next, step.gpu, kAttuneRules));
    EXPECT_LE(std::max(here, there), 1.5 * std::min(here, there))
        << step.gpu.gfx << ' ' << next.m << ' ' << next.n << ' ' << next.k << ": " << here << ", then " << there;
  }
}

TEST(TritonSpace, StatesConfigsOfAnAmdGpu) {
  const Problem problem = triton_problem("gemm_a16w16 m=16 n=7168 k=2048 dtype=bf16");
  const auto starts = gemm_starts(problem, kAmdGpu);
  ASSERT_FALSE(starts.empty());
  for (const Config& config : starts) {
    EXPECT_EQ(config.integer("num_stages"), 2);
    EXPECT_TRUE(gemm_space(GemmShape::of(problem), kAmdGpu).index_of(config)) << config.key();
  }
}

/// A file of the script may name such a config: it is timed, but no search tries it.
TEST(TritonSpace, ConfigsBeyondTheRulesOfASearchCanBePrepared) {
  const Problem problem = triton_problem("gemm_a16w16 m=4864 n=4096 k=4096 dtype=fp16");
  const SearchSpace space = gemm_space(GemmShape::of(problem), kTritonGpus[0]);
  const Config spilling = GemmConfig{.block_m = 256, .block_n = 256, .block_k = 64}.text();
  EXPECT_EQ(why_outside(space, spilling, problem, kTritonGpus[0]), std::nullopt);
  const auto allowed = prune(space, problem, kTritonGpus[0], 0).allowed;
  EXPECT_FALSE(std::ranges::binary_search(allowed, *space.index_of(spilling)));
}

TEST(TritonSpace, LeavesHundredsOfConfigsAndThousandsOfASquare) {
  const auto count = [](const char* text) {
    return prune(triton_space(text), triton_problem(text), kTritonGpus[0], 0).allowed.size();
  };
  for (const char* text : {kTritonProblems[0], kTritonProblems[1], kTritonProblems[2], kTritonProblems[4]}) {
    EXPECT_GT(count(text), 300u) << text;
    EXPECT_LT(count(text), 25'000u) << text;
  }
}

TEST(TritonSpace, ConfigsThatDifferInLaunchesOnlyShareABinary) {
  const auto shape = GemmShape::of(triton_problem("gemm_a16w16 m=1024 n=1024 k=4096 dtype=bf16"));
  const GemmConfig one = {.block_m = 64, .block_n = 64, .block_k = 64, .split_k = 2};
  GemmConfig other = one;
  other.group_m = 4;
  other.split_k = 8;
  EXPECT_EQ(gemm_task(shape, one, "sm_90").recipe(), gemm_task(shape, other, "sm_90").recipe());
  other.split_k = 1;
  EXPECT_NE(gemm_task(shape, one, "sm_90").recipe(), gemm_task(shape, other, "sm_90").recipe());
  GemmShape longer = shape;
  longer.m = 1025;
  longer.n = 512;
  longer.k = 8192;
  EXPECT_EQ(gemm_task(shape, one, "sm_90").recipe(), gemm_task(longer, one, "sm_90").recipe());
  longer.k = 8191;
  EXPECT_NE(gemm_task(shape, one, "sm_90").recipe(), gemm_task(longer, one, "sm_90").recipe());
}

TEST(TritonSpace, TellsTheCompilerWhatRowsAreMultiplesOf) {
  const auto options = [](const char* text) {
    const auto shape = GemmShape::of(triton_problem(text));
    return gemm_task(shape, {.block_m = 16, .block_n = 16, .block_k = 16}, "sm_90").options;
  };
  const auto whole = options("gemm_a16w16 m=3 n=8 k=24 dtype=bf16");
  EXPECT_THAT(whole, Contains("--argument=k:i32:8"));
  EXPECT_THAT(whole, Contains("--argument=m:i32"));
  EXPECT_THAT(whole, Contains("--constant=MASKS_K:True"));
  EXPECT_THAT(options("gemm_a16w16 m=3 n=8 k=20 dtype=bf16"), Contains("--argument=k:i32"));
  EXPECT_THAT(options("gemm_a16w16 m=3 n=8 k=16 dtype=fp32"), Contains("--argument=n:i32:4"));
  EXPECT_THAT(options("gemm_a16w16 m=3 n=8 k=16 dtype=bf16 trans_a=1"), Contains("--argument=n:i32"));
  EXPECT_THAT(options("gemm_a16w16 m=16 n=8 k=16 dtype=bf16 trans_a=1"), Contains("--argument=m:i32:8"));
}

/// No part is empty, all but the last are multiples of a block.
TEST(TritonSpace, DividesKIntoPartsOfWholeBlocks) {
  for (const int64_t k : {1, 16, 100, 1024, 4099}) {
    for (const int64_t split_k : {1, 2, 5, 24}) {
      const GemmShape shape = {.m = 5, .n = 7, .k = k};
      const Division division(shape, {.block_m = 16, .block_n = 16, .block_k = 32, .split_k = split_k});
      EXPECT_EQ(division.part_length % 32, 0);
      EXPECT_LT((division.num_parts - 1) * division.part_length, k);
      EXPECT_GE(division.num_parts * division.part_length, k);
      EXPECT_LE(division.num_parts, split_k);
    }
  }
}

TEST(TritonSpace, RefusesAConfigWithoutAParameterOrWithNumbersBelowOne) {
  EXPECT_THROW(GemmConfig::of(Config::parse("BLOCK_SIZE_M=16")), Error);
  auto values = GemmConfig{.block_m = 16, .block_n = 16, .block_k = 16}.text().values();
  values.front().second = int64_t{0};
  EXPECT_THROW(GemmConfig::of(Config(std::move(values))), Error);
}

}  // namespace
}  // namespace attune::triton
