// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "testing/opened_solver.h"

namespace attune {
namespace {

constexpr const char* kConvolution = "conv n=2 c=32 h=14 w=12 k=48 y=3 x=3 pad_h=1 pad_w=1";

/// Tests of both versions of the library.
class OnednnConv : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!onednn_.unavailable().empty()) GTEST_SKIP() << onednn_.unavailable();
  }
  OpenedSolver onednn_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Versions, OnednnConv, testing::Values("onednn.conv", "onednn3.conv"),
                         [](const auto& instance) {
                           return std::string(instance.param).substr(0, std::string(instance.param).find('.'));
                         });

TEST_P(OnednnConv, TheDefaultLetsOnednnChooseAllOrdersOnAllCores) {
  const Config default_config = onednn_.backend().default_config(onednn_.problem(kConvolution));
  EXPECT_EQ(default_config.text("order"), "any");
  EXPECT_EQ(default_config.integer("threads"), onednn_.device().info().num_units);
}

TEST_P(OnednnConv, RecommendsTheFirstOfEachPlainOrder) {
  std::vector<std::string> orders;
  for (const Config& one : onednn_.backend().recommended(onednn_.problem(kConvolution)))
    orders.push_back(one.text("order"));
  EXPECT_THAT(orders, testing::ElementsAre("nchw", "nhwc"));
}

TEST_P(OnednnConv, ComputesEveryDirectionWithEveryImplementationAndOrder) {
  for (const char* direction : {"fwd", "bwd_data", "bwd_weights"}) {
    for (const char* layout : {"NCHW", "NHWC"}) {
      const std::string problem = std::string(kConvolution) + " direction=" + direction + " layout=" + layout;
      std::set<std::string> orders;
      for (const Config& config : onednn_.configs(problem)) {
        EXPECT_THAT(config.text("impl"), testing::Not(testing::StartsWith("ref")));
        orders.insert(config.text("order"));
        EXPECT_EQ(onednn_.wrong(problem, config.key()), "");
      }
      EXPECT_EQ(orders.size(), 3u) << problem;
    }
  }
}

TEST_P(OnednnConv, OffersWinogradForWideChannelsAndItsErrorIsWithinTheBound) {
  const std::string problem = "conv n=1 c=64 h=28 w=28 k=64 y=3 x=3 pad_h=1 pad_w=1";
  bool has_winograd = false;
  for (const Config& config : onednn_.configs(problem)) {
    if (config.text("impl").find("wino") == std::string::npos) continue;
    has_winograd = true;
    EXPECT_EQ(onednn_.wrong(problem, config.key()), "");
  }
  if (!has_winograd) GTEST_SKIP() << "this version or CPU has no Winograd";
}

TEST_P(OnednnConv, RefusesWhatItDoesNotOffer) {
  EXPECT_THAT(onednn_.refusal(kConvolution, "order=any;impl=jit:none;threads=1"),
              testing::HasSubstr("does not offer the implementation for order=any"));
  EXPECT_THAT(onednn_.refusal(kConvolution, "order=chwn;impl=jit:none;threads=1"),
              testing::HasSubstr("the order must be any, nchw or nhwc"));
  const auto support = [&](const char* problem) {
    return onednn_.solver().supports(onednn_.problem(problem), onednn_.device().info()).reason;
  };
  EXPECT_EQ(support("conv n=1 c=4 h=5 w=5 k=4 y=3 x=3 dtype=int8"), "computes fp32, bf16 and fp16 only");
  EXPECT_EQ(support("conv n=1 c=4 h=5 w=5 k=4 y=3 x=3 layout=NCDHW"), "computes 2-D convolutions only");
}

}  // namespace
}  // namespace attune
