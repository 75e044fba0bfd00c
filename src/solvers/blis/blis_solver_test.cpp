// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/opened_solver.h"

namespace attune {
namespace {

class Blis : public testing::Test {
 protected:
  void SetUp() override {
    if (!blis_.unavailable().empty()) GTEST_SKIP() << blis_.unavailable();
  }
  OpenedSolver blis_{"blis.gemm"};
};

TEST_F(Blis, ComputesTheSameWithEveryFactorisation) {
  // Every loop gets the threads in turn; no extent is a multiple of a block.
  for (const char* factors : {"jc=1;ic=1;jr=1;threads=1", "jc=2;ic=1;jr=1;threads=2", "jc=1;ic=2;jr=1;threads=2",
                              "jc=1;ic=1;jr=2;threads=2"}) {
    if (std::string_view(factors).ends_with('2') && blis_.device().info().num_units < 2) continue;
    for (const char* sup : {"sup=0", "sup=1"}) {
      const std::string config = std::string("factor=given;") + factors + ";" + sup;
      EXPECT_EQ(blis_.wrong("gemm_a16w16 m=33 n=49 k=17 dtype=fp32 bias=1", config), "");
      EXPECT_EQ(blis_.wrong("gemm_a16w16 m=33 n=49 k=17 dtype=fp32 trans_a=1 trans_b=0", config), "");
    }
  }
}

TEST_F(Blis, OffersFactorsOnlyThatMakeTheNumberOfThreads) {
  size_t given = 0;
  for (const Config& config : blis_.configs("gemm_a16w16 m=8 n=8 k=8 dtype=fp32")) {
    if (config.text("factor") == "auto") {
      EXPECT_FALSE(config.has("jc")) << config.key();
      continue;
    }
    ++given;
    EXPECT_EQ(config.integer("jc") * config.integer("ic") * config.integer("jr"), config.integer("threads"));
    EXPECT_GT(config.integer("threads"), 1);
  }
  EXPECT_EQ(given > 0, blis_.device().info().num_units > 1);
}

TEST_F(Blis, TakesAllCoresWhenNobodyTunesIt) {
  const auto default_config = blis_.backend().default_config(blis_.problem("gemm_a16w16 m=8 n=8 k=8 dtype=fp32"));
  EXPECT_EQ(default_config.integer("threads"), blis_.device().info().num_units);
}

TEST_F(Blis, RefusesThreadsTheDeviceHasNot) {
  EXPECT_THAT(blis_.refusal("gemm_a16w16 m=8 n=8 k=8 dtype=fp32", "factor=auto;sup=1;threads=100000"),
              testing::HasSubstr("the config asks for 100000"));
}

}  // namespace
}  // namespace attune
