// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "testing/opened_solver.h"

namespace attune {
namespace {

constexpr const char* kSmall = "gemm_a16w16 m=8 n=16 k=32 dtype=fp32";

/// Tests of both versions of the library.
class Onednn : public testing::TestWithParam<const char*> {
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
  bool is_version_2() {
    return onednn_.backend().versions().at(std::string(onednn_.solver().id())).starts_with("1+2.");
  }
  OpenedSolver onednn_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Versions, Onednn, testing::Values("onednn.gemm", "onednn3.gemm"), [](const auto& instance) {
  return std::string(instance.param).substr(0, std::string(instance.param).find('.'));
});

TEST_P(Onednn, RefusesAnImplementationItDoesNotOffer) {
  EXPECT_THAT(onednn_.refusal(kSmall, "impl=brgemm:none;threads=1"),
              testing::HasSubstr("does not offer the implementation"));
  EXPECT_THAT(onednn_.refusal(kSmall, "impl=brgemm:none;threads=1"), testing::HasSubstr("'brgemm:none'"));
  EXPECT_NE(onednn_.refusal(kSmall, "impl=;threads=1"), "");
}

TEST_P(Onednn, ComputesWithEveryImplementationItOffersButNeverOffersTheReference) {
  for (const std::string& problem :
       {std::string(kSmall), std::string("gemm_a16w16 m=8 n=16 k=32 dtype=bf16 outdtype=fp32 bias=1"),
        std::string("gemm_a16w16 m=1 n=16 k=32 dtype=fp32 trans_b=0 bias=1")}) {
    if (const Support support = onednn_.solver().supports(onednn_.problem(problem), onednn_.device().info());
        !support.yes) {
      std::printf("skipped: %s: %s\n", problem.c_str(), support.reason.c_str());
      continue;
    }
    const auto names = implementations(problem);
    EXPECT_THAT(names, testing::Not(testing::Contains(testing::StartsWith("ref"))));
    EXPECT_FALSE(names.empty());
    for (const auto& name : names) EXPECT_EQ(onednn_.wrong(problem, "threads=1;impl=" + name), "");
  }
}

TEST_P(Onednn, ActivatesBehindTheBiasWithEveryImplementationAndLayout) {
  for (const char* act : {"relu", "gelu", "gelu_tanh", "silu"}) {
    for (const char* shape :
         {"m=8 n=16 k=32 dtype=fp32", "m=9 n=70 k=96 dtype=fp32 bias=1", "m=33 n=40 k=64 dtype=bf16",
          "m=5 n=48 k=128 dtype=bf16 outdtype=fp32 bias=1", "m=7 n=70 k=96 dtype=fp32 bpreshuffle=1"}) {
      const std::string text = fmt::format("gemm_a16w16 {} act={}", shape, act);
      if (!onednn_.solver().supports(onednn_.problem(text), onednn_.device().info()).yes) continue;
      for (const Config& config : onednn_.configs(text)) EXPECT_EQ(onednn_.wrong(text, config.key()), "");
    }
  }
}

TEST_P(Onednn, LeavesTheRestOfAnEpilogueToOthers) {
  for (const char* attribute : {"alpha=0", "alpha=any", "beta=1", "beta=any", "out_scale=1"}) {
    const auto problem = onednn_.problem(std::string(kSmall) + " act=relu " + attribute);
    EXPECT_THAT(onednn_.solver().supports(problem, onednn_.device().info()).reason, testing::HasSubstr(attribute));
  }
}

TEST_P(Onednn, RunsTheImplementationItPrefersOnAllCoresByDefault) {
  const auto default_config = onednn_.backend().default_config(onednn_.problem(kSmall));
  EXPECT_EQ(default_config.text("impl"), implementations(kSmall).front());
  EXPECT_EQ(default_config.integer("threads"), onednn_.device().info().num_units);
}

constexpr const char* kPacked = "gemm_a16w16 m=8 n=70 k=96 dtype=fp32 bias=1 bpreshuffle=1";

TEST_P(Onednn, ComputesWithWeightsInEveryLayoutItNames) {
  std::set<std::string> layouts;
  for (const Config& config : onednn_.configs(kPacked)) {
    layouts.insert(config.text("b_layout"));
    EXPECT_EQ(onednn_.wrong(kPacked, config.key()), "");
  }
  EXPECT_THAT(layouts, testing::Contains("plain"));
  for (const Layout& layout : onednn_.backend().opaque_layouts()->layouts(onednn_.problem(kPacked))) {
    EXPECT_THAT(layouts, testing::Contains(layout.name));
    EXPECT_THAT(layout.name, testing::HasSubstr(".any@"));
  }
}

TEST_P(Onednn, NamesTheSameLayoutForAllRowsOnlyWhereTheBytesAreTheSame) {
  // Weights of one layout name are packed once for a whole group of M: packing for any M of it must give the same
  // bytes.
  std::map<std::string, std::vector<std::byte>> bytes;
  for (const int m : {1, 2, 16, 64, 300}) {
    const Problem problem = onednn_.problem(fmt::format("gemm_a16w16 m={} n=70 k=96 dtype=fp32 bpreshuffle=1", m));
    std::vector<std::byte> plain(70 * 96 * 4);
    for (size_t i = 0; i < plain.size(); ++i) plain[i] = static_cast<std::byte>(i * 7 % 63);
    for (const Layout& layout : onednn_.backend().opaque_layouts()->layouts(problem)) {
      std::vector<std::byte> packed(onednn_.backend().opaque_layouts()->packed_bytes(layout, problem));
      const Buffer weights{plain.data(), plain.size()};
      onednn_.backend().opaque_layouts()->pack(layout, problem, {&weights, 1}, {packed.data(), packed.size()});
      const auto [known, fresh] = bytes.emplace(layout.name, packed);
      EXPECT_EQ(known->second, packed) << layout.name << " m=" << m;
    }
  }
}

TEST_P(Onednn, TakesTheLayoutItPrefersByDefault) {
  const auto default_config = onednn_.backend().default_config(onednn_.problem(kPacked));
  EXPECT_EQ(default_config.integer("threads"), onednn_.device().info().num_units);
  EXPECT_TRUE(onednn_.backend().space(onednn_.problem(kPacked)).index_of(default_config).has_value());
  EXPECT_THAT(onednn_.refusal(kPacked, "impl=" + default_config.text("impl") + ";threads=1;b_layout=onednn.any@1.0.ab"),
              testing::HasSubstr("does not offer the implementation"));
}

TEST_P(Onednn, OfVersion2LeavesHalvesToOthers) {
  if (!is_version_2()) GTEST_SKIP() << "version 3 has them";
  EXPECT_THAT(onednn_.solver()
                  .supports(onednn_.problem("gemm_a16w16 m=8 n=16 k=32 dtype=fp16"), onednn_.device().info())
                  .reason,
              testing::HasSubstr("does not support fp16"));
}

TEST_P(Onednn, OfVersion3TakesHalvesWhereItHasMoreThanItsReference) {
  if (is_version_2()) GTEST_SKIP() << "only version 3 has them";
  for (const std::string problem :
       {"gemm_a16w16 m=8 n=16 k=32 dtype=fp16", "gemm_a16w16 m=8 n=16 k=32 dtype=fp16 bias=1",
        "gemm_a16w16 m=8 n=16 k=32 dtype=fp16 outdtype=fp32 bias=1"}) {
    const auto support = onednn_.solver().supports(onednn_.problem(problem), onednn_.device().info());
    if (!support.yes) {
      EXPECT_THAT(support.reason, testing::AnyOf(testing::HasSubstr("AVX512-FP16"), testing::HasSubstr("fp16 bias")));
      continue;
    }
    for (const Config& config : onednn_.configs(problem)) {
      EXPECT_THAT(config.text("impl"), testing::Not(testing::StartsWith("ref"))) << problem;
      EXPECT_EQ(onednn_.wrong(problem, config.key()), "");
    }
  }
}

}  // namespace
}  // namespace attune
