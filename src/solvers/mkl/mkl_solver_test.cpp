// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/opened_solver.h"

namespace attune {
namespace {

using testing::HasSubstr;

class MklSolver : public testing::Test {
 protected:
  void SetUp() override {
    if (!mkl_.unavailable().empty()) GTEST_SKIP() << mkl_.unavailable();
  }
  bool offers(const std::string& problem, const std::string& config) {
    return mkl_.backend().space(mkl_.problem(problem)).index_of(Config::parse(config)).has_value();
  }
  std::string unsupported(const std::string& problem) {
    return mkl_.solver().supports(mkl_.problem(problem), mkl_.device().info()).reason;
  }
  OpenedSolver mkl_{"mkl.gemm"};
};

TEST_F(MklSolver, MultipliesAVectorInBothWeightLayouts) {
  for (const char* problem :
       {"gemm_a16w16 m=1 n=31 k=96 dtype=fp32", "gemm_a16w16 m=1 n=31 k=96 dtype=fp32 bias=1 trans_b=0",
        "gemm_a16w16 m=1 n=31 k=96 dtype=fp32 trans_a=1 bias=1"}) {
    EXPECT_EQ(mkl_.wrong(problem, "routine=gemv;threads=1"), "");
    EXPECT_EQ(mkl_.wrong(problem, "routine=gemm;threads=1"), "");
  }
}

TEST_F(MklSolver, MultipliesNarrowTypesInEveryLayout) {
  for (const std::string dtype : {"bf16", "fp16"}) {
    for (const char* layout : {"", " trans_b=0", " trans_a=1", " trans_a=1 trans_b=0"}) {
      const std::string problem = "gemm_a16w16 m=9 n=21 k=47 outdtype=fp32 bias=1 dtype=" + dtype + layout;
      EXPECT_EQ(mkl_.wrong(problem, "routine=gemm;threads=1"), "");
    }
  }
}

TEST_F(MklSolver, OffersTheVectorRoutineForOneRowOfFp32Only) {
  EXPECT_TRUE(offers("gemm_a16w16 m=1 n=8 k=8 dtype=fp32", "routine=gemv;threads=1"));
  EXPECT_FALSE(offers("gemm_a16w16 m=2 n=8 k=8 dtype=fp32", "routine=gemv;threads=1"));
  EXPECT_FALSE(offers("gemm_a16w16 m=1 n=8 k=8 dtype=bf16 outdtype=fp32", "routine=gemv;threads=1"));
  EXPECT_THAT(mkl_.refusal("gemm_a16w16 m=2 n=8 k=8 dtype=fp32", "routine=gemv;threads=1"),
              HasSubstr("sgemv needs m=1 and fp32"));
  EXPECT_THAT(mkl_.refusal("gemm_a16w16 m=1 n=8 k=8 dtype=bf16 outdtype=fp32", "routine=gemv;threads=1"),
              HasSubstr("sgemv needs m=1 and fp32"));
}

std::string packed_config(int threads) {
  const auto versions = OpenedSolver("mkl.gemm").backend().versions();
  return fmt::format("routine=compute;threads={0}{2};b_layout=mkl.pack@{1}.t{0}", threads,
                     versions.at("mkl.gemm").substr(2), threads > 1 ? ";dynamic=1" : "");
}

TEST_F(MklSolver, MultipliesWeightsThatItPackedAhead) {
  for (const char* problem : {"gemm_a16w16 m=1 n=900 k=910 dtype=fp32 bias=1 bpreshuffle=1",
                              "gemm_a16w16 m=6 n=900 k=910 dtype=fp32 bpreshuffle=1",
                              "gemm_a16w16 m=2 n=1500 k=1500 dtype=bf16 outdtype=fp32 bias=1 bpreshuffle=1"}) {
    EXPECT_TRUE(offers(problem, packed_config(1))) << problem;
    EXPECT_EQ(mkl_.wrong(problem, packed_config(1)), "");
  }
}

TEST_F(MklSolver, PacksForAThreadCountAndLeavesSmallWeightsPlain) {
  const std::string large = "gemm_a16w16 m=4 n=900 k=910 dtype=fp32 bpreshuffle=1";
  EXPECT_EQ(mkl_.backend().untuned(mkl_.problem(large)).text("routine"), "compute");
  if (mkl_.device().info().num_units > 1) {
    std::string mixed = packed_config(2);
    mixed.back() = '1';  // The layout of one thread, used by two.
    const auto space = mkl_.backend().space(mkl_.problem(large));
    const auto why = why_outside(space, Config::parse(mixed), mkl_.problem(large), mkl_.device().info());
    ASSERT_TRUE(why.has_value());
    EXPECT_THAT(*why, HasSubstr("another number of threads"));
  }
  const std::string small = "gemm_a16w16 m=4 n=64 k=64 dtype=fp32 bpreshuffle=1";
  EXPECT_EQ(mkl_.backend().untuned(mkl_.problem(small)).text("routine"), "gemm");
  EXPECT_TRUE(mkl_.backend().layouts(mkl_.problem(small)).empty());
}

TEST_F(MklSolver, LeavesNarrowResultsToOthers) {
  EXPECT_THAT(unsupported("gemm_a16w16 m=2 n=8 k=8 dtype=bf16"), HasSubstr("fp32 results only"));
  EXPECT_EQ(unsupported("gemm_a16w16 m=2 n=8 k=8 dtype=bf16 outdtype=fp32"), "");
}

TEST_F(MklSolver, IsUntunedOnAllCoresWithTheLibrarysOwnCut) {
  const auto units = mkl_.device().info().num_units;
  const auto untuned = mkl_.backend().untuned(mkl_.problem("gemm_a16w16 m=2 n=8 k=8 dtype=fp32"));
  EXPECT_EQ(untuned.integer("threads"), units);
  EXPECT_EQ(untuned.key().find("dynamic=1") != std::string::npos, units > 1);
}

TEST_F(MklSolver, CallsTheInterfaceLayerAndNotTheSingleLibrary) {
  for (const EntryPoint& point : mkl_.backend().entry_points())
    EXPECT_THAT(point.library, testing::StartsWith("libmkl_intel_lp64")) << point.symbol;
}

TEST_F(MklSolver, RefusesThreadsTheDeviceHasNot) {
  EXPECT_NE(mkl_.refusal("gemm_a16w16 m=2 n=8 k=8 dtype=fp32", "routine=gemm;threads=0"), "");
  EXPECT_NE(mkl_.refusal("gemm_a16w16 m=2 n=8 k=8 dtype=fp32", "routine=gemm;threads=100000"), "");
}

}  // namespace
}  // namespace attune
