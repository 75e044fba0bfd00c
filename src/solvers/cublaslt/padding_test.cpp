// SPDX-License-Identifier: MIT
#include "padding.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "device/devices.h"
#include "testing/opened_solver.h"

namespace attune {
namespace {

std::optional<Padding> padding_of(const char* problem) {
  return Padding::of(GemmShape::of(Problem::parse(std::string("gemm_a16w16 dtype=bf16 outdtype=bf16 ") + problem)));
}

TEST(Padding, IsNotForRowsOfWholeVectors) {
  EXPECT_FALSE(padding_of("m=3 n=256 k=512"));
  EXPECT_FALSE(padding_of("m=8 n=256 k=512 trans_a=1 trans_b=0"));
}

TEST(Padding, LeavesPlainWeightsWhereTheyAre) {
  const auto padding = padding_of("m=333 n=4099 k=2056 bias=1");
  ASSERT_TRUE(padding);
  EXPECT_EQ(padding->padded().n, 4096);
  EXPECT_EQ(padding->num_tail_columns(), 3);
  EXPECT_FALSE(padding->copies_a() || padding->copies_b() || padding->copies_bias());
  EXPECT_TRUE(padding->copies_c());
  EXPECT_EQ(padding->bytes(), 333u * 4096 * 2);
}

TEST(Padding, CopiesWhatHasOddRows) {
  const auto odd_k = padding_of("m=64 n=4096 k=4095");
  ASSERT_TRUE(odd_k);
  EXPECT_EQ(odd_k->padded().k, 4096);
  EXPECT_TRUE(odd_k->copies_a() && odd_k->copies_b());
  EXPECT_FALSE(odd_k->copies_c());
  const auto odd_columns = padding_of("m=64 n=33 k=512 trans_b=0 bias=1");
  ASSERT_TRUE(odd_columns);
  EXPECT_EQ(odd_columns->padded().n, 40);
  EXPECT_TRUE(odd_columns->copies_b() && odd_columns->copies_bias() && odd_columns->copies_c());
  EXPECT_FALSE(odd_columns->copies_a());
  const auto transposed = padding_of("m=17 n=64 k=512 trans_a=1");
  ASSERT_TRUE(transposed);
  EXPECT_EQ(transposed->padded().m, 24);
  EXPECT_TRUE(transposed->copies_a() && transposed->copies_c());
  EXPECT_FALSE(transposed->copies_b());
}

TEST(Padding, IsNotForCopiesBeyondItsLimit) { EXPECT_FALSE(padding_of("m=1 n=262144 k=4095")); }

TEST(PaddingOnGpu, ComputesEveryLayoutTypeAndEpilogue) {
  if (list_devices("cuda:0").empty()) GTEST_SKIP() << "no NVIDIA GPU is here";
  OpenedSolver cublaslt("cublaslt.gemm", "cuda:0");
  ASSERT_EQ(cublaslt.unavailable(), "");
  for (const char* problem :
       {"gemm_a16w16 m=333 n=4099 k=2056 dtype=bf16", "gemm_a16w16 m=1 n=263 k=520 dtype=bf16",
        "gemm_a16w16 m=17 n=127 k=256 dtype=fp16 bias=1 act=gelu_tanh",
        "gemm_a16w16 m=40 n=65 k=72 dtype=bf16 bias=1 act=relu", "gemm_a16w16 m=19 n=77 k=264 dtype=bf16 outdtype=fp32",
        "gemm_a16w16 m=64 n=256 k=511 dtype=bf16", "gemm_a16w16 m=65 n=257 k=509 dtype=fp16 bias=1",
        "gemm_a16w16 m=33 n=129 k=255 dtype=bf16 trans_b=0 bias=1 act=gelu_tanh",
        "gemm_a16w16 m=31 n=64 k=128 dtype=bf16 trans_a=1",
        "gemm_a16w16 m=31 n=63 k=127 dtype=bf16 trans_a=1 trans_b=0", "gemm_a16w16 m=7 n=5 k=9 dtype=bf16 bias=1",
        "gemm_a16w16 m=5 n=3 k=8 dtype=fp16 outdtype=fp32"}) {
    // The first is the one that the heuristic prefers; of the others verification rejects some.
    const auto all = cublaslt.configs(problem);
    const auto padded = std::ranges::find_if(all, [](const Config& config) { return config.has("pad"); });
    ASSERT_NE(padded, all.end()) << problem;
    EXPECT_EQ(cublaslt.wrong(problem, padded->key()), "") << problem << " " << padded->key();
  }
}

}  // namespace
}  // namespace attune
