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

TEST_F(MklSolver, TakesPackedWeightsAsTheyAre) {
  const std::string large = "gemm_a16w16 m=4 n=900 k=910 dtype=fp32 bpreshuffle=1";
  EXPECT_EQ(mkl_.backend().default_config(mkl_.problem(large)).text("routine"), "gemm");
  EXPECT_EQ(mkl_.backend().opaque_layouts(), nullptr);
  EXPECT_EQ(mkl_.wrong(large, "routine=gemm;threads=1"), "");
}

TEST_F(MklSolver, LeavesNarrowResultsToOthers) {
  EXPECT_THAT(unsupported("gemm_a16w16 m=2 n=8 k=8 dtype=bf16"), HasSubstr("fp32 results only"));
  EXPECT_EQ(unsupported("gemm_a16w16 m=2 n=8 k=8 dtype=bf16 outdtype=fp32"), "");
}

TEST_F(MklSolver, RunsOnAllCoresByDefaultWithTheLibrarysOwnCut) {
  const auto units = mkl_.device().info().num_units;
  const auto default_config = mkl_.backend().default_config(mkl_.problem("gemm_a16w16 m=2 n=8 k=8 dtype=fp32"));
  EXPECT_EQ(default_config.integer("threads"), units);
  EXPECT_EQ(default_config.key().find("dynamic=1") != std::string::npos, units > 1);
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
