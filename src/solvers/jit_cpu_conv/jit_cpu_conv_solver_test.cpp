// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/opened_solver.h"

namespace attune {
namespace {

class JitCpuConv : public testing::Test {
 protected:
  void SetUp() override {
    if (!jit_.unavailable().empty()) GTEST_SKIP() << jit_.unavailable();
    if (const auto support = support_of("conv n=1 c=1 h=1 w=1 k=1 y=1 x=1"); !support.yes)
      GTEST_SKIP() << support.reason;
  }
  Support support_of(const std::string& problem) {
    return jit_.solver().supports(jit_.problem(problem), jit_.device().info());
  }
  OpenedSolver jit_{"jit_cpu.conv"};
};

TEST_F(JitCpuConv, EveryBlockComputesEveryRemainderStepAndGroup) {
  for (const char* problem :
       {"conv n=2 c=3 h=9 w=70 k=11 y=3 x=3 pad_h=1 pad_w=1", "conv n=1 c=4 h=8 w=45 k=9 y=2 x=3 stride_h=2 stride_w=3",
        "conv n=2 c=6 h=7 w=33 k=12 y=3 x=2 dilation_h=2 dilation_w=3 pad_w=4 groups=3",
        "conv n=1 c=5 h=5 w=5 k=5 y=5 x=5 pad_h=2 pad_w=2 groups=5",
        "conv n=1 c=2 h=6 w=40 k=8 y=3 x=4 stride_w=2 dilation_w=3 pad_w=1"}) {
    for (const Config& config : jit_.configs(problem)) EXPECT_EQ(jit_.wrong(problem, config.key()), "");
  }
}

TEST_F(JitCpuConv, RefusesByName) {
  const std::string sizes = "conv n=1 c=4 h=5 w=5 k=4 y=3 x=3 ";
  EXPECT_EQ(support_of(sizes + "dtype=bf16").reason, "computes fp32 only");
  EXPECT_EQ(support_of(sizes + "layout=NHWC").reason, "computes NCHW only");
  EXPECT_EQ(support_of(sizes + "direction=bwd_data").reason, "computes direction=fwd of transposed=0 only");
  EXPECT_EQ(support_of(sizes + "direction=bwd_data transposed=1").reason,
            "computes direction=fwd of transposed=0 only");
}

}  // namespace
}  // namespace attune
