// SPDX-License-Identifier: MIT
#include "core/record.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(Versions, EqualOnesAreCurrent) {
  EXPECT_EQ(compare({{"a", "1"}, {"driver.cuda", "2"}}, {{"a", "1"}, {"driver.cuda", "2"}}), Age::current);
}

TEST(Versions, ADriverCompilerOrKernelThatDiffersDrifts) {
  for (const std::string component : {"driver.cuda", "compiler.gcc", "kernel.linux"}) {
    EXPECT_EQ(compare({{"a", "1"}, {component, "2"}}, {{"a", "1"}, {component, "3"}}), Age::drifted);
    EXPECT_EQ(compare({{"a", "1"}, {component, "2"}}, {{"a", "1"}}), Age::drifted);
    EXPECT_EQ(compare({{"a", "1"}}, {{"a", "1"}, {component, "2"}}), Age::drifted);
  }
}

TEST(Versions, AnythingElseThatDiffersIsStaleWhateverDrifts) {
  EXPECT_EQ(compare({{"a", "1"}}, {{"a", "2"}}), Age::stale);
  EXPECT_EQ(compare({{"a", "1"}}, {}), Age::stale);
  EXPECT_EQ(compare({}, {{"a", "1"}}), Age::stale);
  EXPECT_EQ(compare({{"a", "1"}, {"driver.x", "1"}}, {{"a", "2"}, {"driver.x", "2"}}), Age::stale);
  EXPECT_EQ(compare({{"drivers", "1"}}, {{"drivers", "2"}}), Age::stale);
}

TEST(Protocol, EveryMemberIsInTheKey) {
  const Protocol usual;
  const auto differs = [&](auto change) {
    Protocol other;
    change(other);
    return other.key() != usual.key();
  };
  EXPECT_EQ(Protocol{}.key(), usual.key());
  EXPECT_TRUE(differs([](Protocol& p) { p.cache = CachePolicy::warm; }));
  EXPECT_TRUE(differs([](Protocol& p) { p.procedure = "exhaustive/1 5+101"; }));
  EXPECT_TRUE(differs([](Protocol& p) { p.seed = 1; }));
  EXPECT_TRUE(differs([](Protocol& p) { p.min_gain = 0.0050000000000000001 * (1 + 3e-16); }));
  EXPECT_TRUE(differs([](Protocol& p) { p.err_ratio = 0.1; }));
}

TEST(Names, OfStagesStatusesAndVerdictsReadBack) {
  for (const Stage stage : {Stage::verify, Stage::screen, Stage::final}) EXPECT_EQ(parse_stage(name(stage)), stage);
  for (int i = 0; i <= static_cast<int>(Status::cancelled); ++i)
    EXPECT_EQ(parse_status(name(static_cast<Status>(i))), static_cast<Status>(i));
  EXPECT_EQ(name(Status::cancelled), "cancelled");
  EXPECT_EQ(name(Verdict::baseline), "baseline");
  EXPECT_FALSE(parse_stage("x"));
  EXPECT_FALSE(parse_status(""));
}

}  // namespace
}  // namespace attune
