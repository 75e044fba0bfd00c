// SPDX-License-Identifier: MIT
#include "core/record.h"

#include <gtest/gtest.h>

#include <functional>

#include "attune/error.h"

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
  EXPECT_EQ(compare({{"build.libx.so", "1"}}, {{"build.libx.so", "2"}}), Age::drifted);
  EXPECT_EQ(compare({{"drivers", "1"}}, {{"drivers", "2"}}), Age::stale);
}

/// Names the keys that a change of the protocol affects.
std::string keys_with(const std::function<void(Protocol&)>& change) {
  Protocol other;
  change(other);
  std::string keys;
  if (other.measured_key() != Protocol().measured_key()) keys += "measured ";
  if (other.searched_key() != Protocol().searched_key()) keys += "searched ";
  return keys;
}

TEST(Protocol, EveryMemberIsInTheKeyOfWhatItChanges) {
  EXPECT_EQ(keys_with([](Protocol&) {}), "");
  EXPECT_EQ(keys_with([](Protocol& p) { p.cache = CachePolicy::warm; }), "measured ");
  EXPECT_EQ(keys_with([](Protocol& p) { p.err_ratio = 0.1; }), "measured ");
  EXPECT_EQ(keys_with([](Protocol& p) { p.timing = Timing::graph; }), "measured ");
  EXPECT_EQ(keys_with([](Protocol& p) { p.values = TimedValues::zeros; }), "measured ");
  EXPECT_EQ(keys_with([](Protocol& p) { p.timing = Timing::events; }), "") << "as in journals of before";
  EXPECT_EQ(keys_with([](Protocol& p) { p.seed = 1; }), "measured searched ");
  EXPECT_EQ(keys_with([](Protocol& p) { p.require = Requirement::deterministic; }), "measured searched ");
  EXPECT_EQ(keys_with([](Protocol& p) { p.procedure = "race/1 auto/1000"; }), "searched ");
  EXPECT_EQ(keys_with([](Protocol& p) { p.min_gain = 0.0050000000000000001 * (1 + 3e-16); }), "searched ");
}

TEST(Deadlines, AreCoveredByOthersThatAreNotLonger) {
  const Deadlines tried{1000, 2000};
  EXPECT_TRUE(tried.cover({1000, 2000}));
  EXPECT_TRUE(tried.cover({500, 100}));
  EXPECT_FALSE(tried.cover({1001, 2000}));
  EXPECT_FALSE(tried.cover({1000, 2001}));
  EXPECT_FALSE(tried.cover({1000, 0})) << "none is the longest";
  EXPECT_TRUE((Deadlines{1000, 0}.cover({1000, 5000}))) << "a stage without a deadline did not time out";
}

TEST(Decision, TheWinnersBinariesAreThoseOfItsFinalist) {
  Decision decision;
  decision.winner = {"s", "1", {}};
  EXPECT_TRUE(decision.winner_binaries().empty());
  decision.finalists.push_back({.candidate = {"other", "1", {}}, .binaries = {{"r", "gcc", "a"}}});
  decision.finalists.push_back({.candidate = decision.winner, .binaries = {{"r", "gcc", "b"}}});
  ASSERT_EQ(decision.winner_binaries().size(), 1u);
  EXPECT_EQ(decision.winner_binaries().front().sha256, "b");
  EXPECT_EQ(decision.winner_number(), std::nullopt);
  decision.finalists[0].number = 3;
  decision.finalists[1].number = 5;
  EXPECT_EQ(decision.winner_number(), 5u);
}

TEST(Names, OfCachePoliciesReadBackAndOthersAreRefused) {
  for (const CachePolicy policy : {CachePolicy::cold, CachePolicy::warm, CachePolicy::served})
    EXPECT_EQ(parse_cache_policy(name(policy)), policy);
  EXPECT_THROW(parse_cache_policy("hot"), Error);
  EXPECT_THROW(parse_cache_policy(""), Error);
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
