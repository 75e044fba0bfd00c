// SPDX-License-Identifier: MIT
#include "tuner/history/neighbours.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "testing/journal_values.h"
#include "tuner/history/decision_recall.h"

namespace attune {
namespace {

using testing::ElementsAre;

class Neighbours : public testing::Test, protected JournalValues {
 protected:
  static Problem sized(int64_t m) { return kProblem.with("m", std::to_string(m)); }
  void decide(int64_t m, const std::string& winner, const std::string& fingerprint = "here") {
    Decision one = decision(winner);
    one.problem = sized(m);
    one.fingerprint = fingerprint;
    journal_->append(std::vector<Entry>{one});
  }
  std::vector<Candidate> nearest(const Problem& problem, size_t max_count = 9) {
    index_.refresh(*journal_);
    return index_.nearest(problem, max_count);
  }

  std::unique_ptr<Journal> journal_ = open_memory_journal();
  NeighbourIndex index_{"here"};
};

TEST_F(Neighbours, TheNearestComesFirstAndEachCandidateOnce) {
  decide(100, "a=1");
  decide(8, "a=2");
  decide(1000, "a=1");
  decide(64, "a=3");
  decide(16, "a=9", "there");
  EXPECT_THAT(nearest(sized(16)), ElementsAre(candidate("a=2"), candidate("a=3"), candidate("a=1")));
  EXPECT_THAT(nearest(sized(900)), ElementsAre(candidate("a=1"), candidate("a=3"), candidate("a=2")));
  EXPECT_THAT(nearest(sized(900), 1), ElementsAre(candidate("a=1")));
  EXPECT_TRUE(nearest(sized(16).with("dtype", "fp32")).empty());
}

TEST_F(Neighbours, OfTwoThatAreAsNearTheOlderComesFirst) {
  decide(32, "a=2");
  decide(8, "a=1");
  EXPECT_THAT(nearest(sized(16)), ElementsAre(candidate("a=2"), candidate("a=1")));
}

TEST_F(Neighbours, AProblemHasItsNewestWinner) {
  decide(8, "a=1");
  EXPECT_THAT(nearest(sized(8)), ElementsAre(candidate("a=1")));
  decide(8, "a=2");
  EXPECT_THAT(nearest(sized(8)), ElementsAre(candidate("a=2")));
  decide(9, "a=1");
  EXPECT_THAT(nearest(sized(8)), ElementsAre(candidate("a=2"), candidate("a=1"))) << "a name that comes back";
}

TEST_F(Neighbours, ProblemsWithDecisionsAreThoseOfThePlace) {
  decide(8, "a=1");
  decide(8, "a=2");
  decide(9, "a=1", "there");
  journal_->append(std::vector<Entry>{started("a=1", sized(10))});
  EXPECT_EQ(problems_with_decisions(*journal_, "here"), std::set<std::string>{sized(8).key()});
}

}  // namespace
}  // namespace attune
