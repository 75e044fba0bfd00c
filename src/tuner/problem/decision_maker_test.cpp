// SPDX-License-Identifier: MIT
#include "tuner/problem/decision_maker.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

class DecisionMaker : public testing::Test {
 protected:
  DecisionMaker() {
    for (const Slot slot : {1u, 2u}) {
      EntrantFacts one;
      one.slot = slot;
      one.candidate = {"a.gemm", "1+3", Config({{"x", int64_t{slot}}})};
      entrants_.emplace(slot, one);
      contest_.finalists.push_back({.slot = slot});
    }
    contest_.decided = true;
    contest_.winner = 2;
    contest_.baseline = 1;
    contest_.verdict = Verdict::faster;
  }
  Decision make(bool is_cut_short = false, bool pause_cut = false) const {
    return make_decision({.problem = problem_,
                          .device = device_,
                          .protocol = protocol_,
                          .contest = contest_,
                          .entrants = entrants_,
                          .race_times = race_times_,
                          .failures = failures_,
                          .contenders = contenders_,
                          .to_beat = {},
                          .versions = {},
                          .strategy = "auto",
                          .incumbent = {},
                          .deadlines = {60'000, 2'000},
                          .is_cut_short = is_cut_short,
                          .pause_cut = pause_cut});
  }

  const Problem problem_ = Problem::parse("gemm_a16w16 m=1 n=1 k=1 dtype=fp32");
  const DeviceInfo device_{.id = "fake:0", .kind = "fake", .gfx = "fake", .num_units = 4};
  const Protocol protocol_;
  ContestResult contest_;
  std::map<Slot, EntrantFacts> entrants_;
  RaceTimes race_times_;
  std::vector<Contender> contenders_;
  std::vector<std::pair<Candidate, Outcome>> failures_;
};

TEST_F(DecisionMaker, NamesWinnerAndBaseline) {
  const Decision decision = make();
  EXPECT_EQ(decision.winner, entrants_.at(2).candidate);
  EXPECT_EQ(decision.baseline, entrants_.at(1).candidate);
  EXPECT_EQ(decision.finalists.size(), 2u);
  EXPECT_EQ(decision.device, "fake/4");
  EXPECT_FALSE(decision.incomplete);
}

TEST_F(DecisionMaker, AttunesOwnKernelsAreNoDefaultWhateverIsFasterThanThem) {
  entrants_.at(1).candidate = Candidate::parse("portable.gemm@1:block=4x4");
  contest_.comparison = {.us = 10, .ratio = 6.7, .interval = {6.6, 6.8}, .num_clean = 40};
  contest_.baseline_us = 67;
  for (const Verdict verdict : {Verdict::faster, Verdict::tie, Verdict::baseline}) {
    contest_.verdict = verdict;
    const Decision decision = make();
    EXPECT_EQ(decision.verdict, Verdict::no_default);
    EXPECT_EQ(decision.over_default(), (Comparison{.us = 10, .ratio = 0, .interval = {0, 0}}));
    EXPECT_EQ(decision.default_us(), 0);
    EXPECT_FALSE(decision.best_default);
  }
  EXPECT_EQ(make().winner, entrants_.at(2).candidate) << "it gets the row all the same";
}

TEST_F(DecisionMaker, FinalistsStateTheirWorkspace) {
  entrants_.at(1).workspace_bytes = 4096;
  EXPECT_EQ(make().finalists.front().workspace_bytes, 4096u);
}

TEST_F(DecisionMaker, NumbersTheFinalistsByTheirSolversLists) {
  EXPECT_EQ(make().winner_number(), std::nullopt);
  contenders_ = {{.solver = "a.gemm",
                  .version = "1+3",
                  .space = SearchSpace::listed({Config::parse("x=7"), Config::parse("x=5"), Config::parse("x=2")})}};
  EXPECT_EQ(make().winner_number(), 2u);
  EXPECT_EQ(make().finalists.front().number, std::nullopt) << "x=1 is not on the list";
}

TEST_F(DecisionMaker, IsIncompleteWhenSomeCandidateMayStillBeTried) {
  EXPECT_TRUE(make(true).incomplete);
  failures_ = {{entrants_.at(1).candidate, {.status = Status::wrong_result}}};
  EXPECT_FALSE(make().incomplete);
  failures_ = {{entrants_.at(1).candidate, {.status = Status::device_lost}}};
  EXPECT_TRUE(make().incomplete) << "another run may not lose the device";
}

TEST_F(DecisionMaker, CarriesTheDeadlinesUnderWhichACandidateTimedOut) {
  EXPECT_EQ(make().deadlines, Deadlines());
  failures_ = {{entrants_.at(1).candidate, {.status = Status::timed_out}}};
  EXPECT_EQ(make().deadlines, (Deadlines{60'000, 2'000}));
}

TEST_F(DecisionMaker, OnlyAFasterWinnerSaysThatItsPauseWasCut) {
  EXPECT_TRUE(make(false, true).pause_cut);
  contest_.verdict = Verdict::tie;
  EXPECT_FALSE(make(false, true).pause_cut);
}

}  // namespace
}  // namespace attune
