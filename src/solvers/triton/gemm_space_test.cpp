// SPDX-License-Identifier: MIT
#include "solvers/triton/gemm_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "ops/op.h"
#include "search/prune.h"
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

TEST(TritonSpace, LeavesHundredsOfConfigsAndThousandsOfASquare) {
  const auto count = [](const char* text) {
    return prune(triton_space(text), triton_problem(text), kTritonGpus[0], 0).allowed.size();
  };
  for (const char* text : {kTritonProblems[0], kTritonProblems[1], kTritonProblems[2], kTritonProblems[4]}) {
    EXPECT_GT(count(text), 300u) << text;
    EXPECT_LT(count(text), 20'000u) << text;
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
