// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "solvers/opened_solver.h"

namespace attune {
namespace {

constexpr const char* kSmall = "gemm_a16w16 m=8 n=16 k=32 dtype=fp32";

class Onednn : public testing::Test {
 protected:
  void SetUp() override {
    if (!onednn_.unavailable().empty()) GTEST_SKIP() << onednn_.unavailable();
  }
  std::vector<std::string> implementations(const std::string& problem) {
    std::vector<std::string> names;
    for (const Config& config : onednn_.configs(problem)) {
      if (config.integer("threads") == 1) names.push_back(config.text("impl"));
    }
    return names;
  }
  OpenedSolver onednn_{"onednn.gemm"};
};

TEST_F(Onednn, RefusesAnImplementationItDoesNotOffer) {
  EXPECT_THAT(onednn_.refusal(kSmall, "impl=brgemm:none;threads=1"),
              testing::HasSubstr("does not offer the implementation"));
  EXPECT_THAT(onednn_.refusal(kSmall, "impl=brgemm:none;threads=1"), testing::HasSubstr("'brgemm:none'"));
  EXPECT_NE(onednn_.refusal(kSmall, "impl=;threads=1"), "");
}

TEST_F(Onednn, ComputesWithEveryImplementationItOffersButNeverOffersTheReference) {
  for (const std::string& problem :
       {std::string(kSmall), std::string("gemm_a16w16 m=8 n=16 k=32 dtype=bf16 outdtype=fp32 bias=1"),
        std::string("gemm_a16w16 m=1 n=16 k=32 dtype=fp32 trans_b=0 bias=1")}) {
    const auto names = implementations(problem);
    EXPECT_THAT(names, testing::Not(testing::Contains("ref:any")));
    EXPECT_FALSE(names.empty());
    for (const auto& name : names) EXPECT_EQ(onednn_.wrong(problem, "threads=1;impl=" + name), "");
  }
}

TEST_F(Onednn, IsUntunedWithTheImplementationItPrefersOnAllCores) {
  const auto untuned = onednn_.backend().untuned(onednn_.problem(kSmall));
  EXPECT_EQ(untuned.text("impl"), implementations(kSmall).front());
  EXPECT_EQ(untuned.integer("threads"), onednn_.device().info().num_units);
}

TEST_F(Onednn, LeavesHalvesToOthers) {
  EXPECT_THAT(onednn_.solver()
                  .supports(onednn_.problem("gemm_a16w16 m=8 n=16 k=32 dtype=fp16"), onednn_.device().info())
                  .reason,
              testing::HasSubstr("no fp16"));
}

}  // namespace
}  // namespace attune
