// SPDX-License-Identifier: MIT
#include "fleet/agent/job_outcome.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using testing::SizeIs;

Candidate of(const std::string& name) { return Candidate::parse(name); }

TuneResult ended(Ending ending, std::string reason = "") {
  TuneResult result;
  result.ending = ending;
  result.reason = std::move(reason);
  return result;
}

TEST(JobOutcomeOfResult, AShortListHasTheThreeFastest) {
  TuneResult result = ended(Ending::shortlisted);
  for (const double us : {4.0, 1.0, 3.0, 2.0}) result.short_list.push_back({of("a.conv@1:"), us, 8});
  const auto outcome = outcome_of(result);
  ASSERT_TRUE(outcome);
  ASSERT_THAT(outcome->short_list, SizeIs(3));
  EXPECT_EQ(outcome->short_list.front().us, 1);
  EXPECT_EQ(outcome->short_list.back().us, 3);
  EXPECT_EQ(outcome->short_list.front().workspace_bytes, 8u);
}

TEST(JobOutcomeOfResult, ACutProblemHasNone) { EXPECT_FALSE(outcome_of(ended(Ending::cut, "budget"))); }

TEST(JobOutcomeOfResult, ADecisionThatWasCutInItsFinalsGoesBack) {
  TuneResult result = ended(Ending::decided);
  result.decision.emplace().incomplete = true;
  EXPECT_FALSE(outcome_of(result));
}

TEST(JobOutcomeOfResult, ACandidateThatTheMachineFailedLeavesADecisionUnlessItIsATie) {
  TuneResult result = ended(Ending::decided);
  result.decision.emplace().incomplete = true;
  result.decision->winner = of("a.conv@1:x=1");
  result.decision->baseline = of("b.conv@1:");
  result.decision->verdict = Verdict::faster;
  result.failures = {{of("c.conv@1:"), {.status = Status::out_of_memory, .detail = "9 GB are missing"}}};
  ASSERT_TRUE(outcome_of(result));
  EXPECT_TRUE(outcome_of(result)->decision) << "the next run may meet the failure again";
  result.decision->verdict = Verdict::tie;
  result.decision->winner = result.decision->baseline;
  ASSERT_TRUE(outcome_of(result));
  EXPECT_EQ(outcome_of(result)->status, Status::out_of_memory);
  EXPECT_THAT(outcome_of(result)->detail, testing::HasSubstr("9 GB are missing"));
  EXPECT_FALSE(outcome_of(result)->decision);
}

TEST(JobOutcomeOfResult, FailuresHaveTheirClass) {
  EXPECT_EQ(outcome_of(ended(Ending::unsupported, "no solver"))->status, Status::unsupported);
  EXPECT_EQ(outcome_of(ended(Ending::refused, "too large"))->detail, "too large");
  TuneResult result = ended(Ending::unsupported, "1 of 1 candidate failed");
  result.failures = {{of("a.conv@1:"), {.status = Status::crashed}}};
  EXPECT_EQ(outcome_of(result)->status, Status::crashed);
}

TEST(Finalists, AreTheBestOfEachSolverWhetherItReachedTheFinalOrNot) {
  Decision decision;
  decision.finalists = {{.candidate = of("a.conv@1:x=1"), .comparison = {.us = 5}},
                        {.candidate = of("a.conv@1:x=2"), .comparison = {.us = 4}, .workspace_bytes = 64},
                        {.candidate = of("b.conv@1:"), .comparison = {.us = 0}}};
  decision.dropped_bests = {{of("c.conv@1:"), 3, 16}};
  const auto all = finalists_of(decision);
  ASSERT_THAT(all, SizeIs(2)) << "one without a time is none";
  EXPECT_EQ(all[0].solver, "c.conv");
  EXPECT_EQ(all[0].workspace_bytes, 16u);
  EXPECT_EQ(all[1].candidate, of("a.conv@1:x=2"));
  EXPECT_EQ(all[1].workspace_bytes, 64u);
}

TEST(Finalists, HaveTheWinnerForItsSolverThoughATieFoundAnotherConfigFaster) {
  Decision decision;
  decision.winner = of("a.conv@1:x=1");
  decision.finalists = {{.candidate = of("a.conv@1:x=1"), .comparison = {.us = 5}},
                        {.candidate = of("a.conv@1:x=2"), .comparison = {.us = 4.9}},
                        {.candidate = of("b.conv@1:"), .comparison = {.us = 4.8}}};
  const auto all = finalists_of(decision);
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].solver, "b.conv");
  EXPECT_EQ(all[1].candidate, of("a.conv@1:x=1"));
}

}  // namespace
}  // namespace attune
