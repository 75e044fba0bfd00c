// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/opened_solver.h"

namespace attune {
namespace {

class Openblas : public testing::Test {
 protected:
  void SetUp() override {
    if (!openblas_.unavailable().empty()) GTEST_SKIP() << openblas_.unavailable();
  }
  OpenedSolver openblas_{"openblas.gemm"};
};

TEST_F(Openblas, MultipliesAVectorInBothWeightLayouts) {
  for (const char* problem :
       {"gemm_a16w16 m=1 n=31 k=96 dtype=fp32", "gemm_a16w16 m=1 n=31 k=96 dtype=fp32 trans_b=0",
        "gemm_a16w16 m=1 n=31 k=96 dtype=fp32 bias=1", "gemm_a16w16 m=1 n=31 k=96 dtype=fp32 bias=1 trans_b=0",
        "gemm_a16w16 m=1 n=31 k=96 dtype=fp32 trans_a=1"}) {
    EXPECT_EQ(openblas_.wrong(problem, "routine=gemv;threads=1"), "");
    EXPECT_EQ(openblas_.wrong(problem, "routine=gemm;threads=1"), "");
  }
}

TEST_F(Openblas, OffersTheVectorRoutineForOneRowOnly) {
  using testing::HasSubstr;
  EXPECT_TRUE(openblas_.backend()
                  .space(openblas_.problem("gemm_a16w16 m=1 n=8 k=8 dtype=fp32"))
                  .index_of(Config::parse("routine=gemv;threads=1")));
  EXPECT_FALSE(openblas_.backend()
                   .space(openblas_.problem("gemm_a16w16 m=2 n=8 k=8 dtype=fp32"))
                   .index_of(Config::parse("routine=gemv;threads=1")));
  EXPECT_THAT(openblas_.refusal("gemm_a16w16 m=2 n=8 k=8 dtype=fp32", "routine=gemv;threads=1"),
              HasSubstr("sgemv needs m=1"));
}

TEST_F(Openblas, RefusesThreadsTheDeviceHasNot) {
  EXPECT_NE(openblas_.refusal("gemm_a16w16 m=2 n=8 k=8 dtype=fp32", "routine=gemm;threads=0"), "");
  EXPECT_NE(openblas_.refusal("gemm_a16w16 m=2 n=8 k=8 dtype=fp32", "routine=gemm;threads=100000"), "");
}

}  // namespace
}  // namespace attune
