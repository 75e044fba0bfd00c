// SPDX-License-Identifier: MIT
#include "report/candidate_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using testing::HasSubstr;
using testing::UnorderedElementsAre;

class SummaryOfCandidates : public testing::Test {
 protected:
  SummaryOfCandidates() { device_.gfx = "fake", device_.num_units = 4, device_.id = "fake:0"; }
  void add_record(int number, Stage stage, bool dropped, Status status = Status::ok, const std::string& detail = "") {
    Record record;
    record.problem = problem_;
    record.device = device_.key();
    record.candidate = {"s.gemm", "1", Config::parse("x=" + std::to_string(number))};
    record.stage = stage;
    record.dropped = dropped;
    record.outcome = {.status = status, .detail = detail};
    const Entry entry = record;
    journal_->append(std::span(&entry, 1));
  }
  CandidateSummary summary(const std::vector<Contender>& contenders = {}) const {
    return summarise_candidates(problem_, device_, "--devices fake:0", contenders, journal_.get());
  }

  Problem problem_ = Problem::parse("gemm_a16w16 m=1 n=2 k=3");
  DeviceInfo device_;
  std::unique_ptr<Journal> journal_ = open_memory_journal();
};

TEST_F(SummaryOfCandidates, EachCandidateCountsOnceWithItsLastRecord) {
  for (const int number : {1, 2, 3}) add_record(number, Stage::verify, false);
  add_record(1, Stage::screen, true);
  add_record(2, Stage::screen, false);
  add_record(2, Stage::final, false);
  add_record(4, Stage::verify, false, Status::wrong_result, "tile dropped");
  const auto found = summary().reasons;
  EXPECT_THAT(found,
              UnorderedElementsAre(testing::Key("slower in the race"), testing::Key("a finalist"),
                                   testing::Key("verified"), testing::Key("failed: wrong_result (tile dropped)")));
  for (const auto& [reason, of_reason] : found) EXPECT_EQ(of_reason.count, 1u) << reason;
  EXPECT_THAT(found.at("slower in the race").example, HasSubstr("--config \"x=1\""));
}

TEST_F(SummaryOfCandidates, SolversThatDoNotSupportTheProblemAreNamed) {
  Contender contender;
  contender.solver = "s.gemm";
  contender.support = Support::no("takes no m=1");
  EXPECT_THAT(summary({contender}).reasons,
              UnorderedElementsAre(testing::Key("not for this problem: s.gemm takes no m=1")));
}

TEST_F(SummaryOfCandidates, TheLastDecisionCounts) {
  EXPECT_FALSE(summary().decision);
  for (const double us : {2.0, 1.0}) {
    Decision decision;
    decision.problem = problem_;
    decision.device = device_.key();
    decision.comparison.us = us;
    const Entry entry = decision;
    journal_->append(std::span(&entry, 1));
  }
  ASSERT_TRUE(summary().decision);
  EXPECT_EQ(summary().decision->comparison.us, 1);
}

TEST_F(SummaryOfCandidates, WithoutAJournalTheRulesCountAlone) {
  add_record(1, Stage::verify, false);
  EXPECT_TRUE(summarise_candidates(problem_, device_, "", {}, nullptr).reasons.empty());
}

}  // namespace
}  // namespace attune
