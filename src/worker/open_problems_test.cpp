// SPDX-License-Identifier: MIT
#include "worker/open_problems.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

const Outcome kCrash{.status = Status::crashed, .detail = "planted"};

class OpenProblemsTest : public testing::Test {
 protected:
  OpenProblemsTest() {
    for (const ProblemId id : {1u, 2u}) problems_.open({id, {}, {}});
    for (const auto& [id, slot] : {std::pair{1u, 11u}, {1u, 12u}, {2u, 21u}})
      problems_.admit({id, slot, {.twice = true}}, {.slot = slot, .output = "its hash"});
  }
  std::vector<std::pair<Slot, Outcome>> lost(std::initializer_list<Slot> slots) {
    std::vector<Turn> schedule;
    for (const Slot slot : slots) schedule.insert(schedule.end(), 2, {.slot = slot});
    std::vector<std::pair<Slot, Outcome>> failed;
    problems_.tell_lost(schedule, failed);
    return failed;
  }
  OpenProblems problems_;
};

TEST_F(OpenProblemsTest, AreRestoredWithoutVerificationButWithTheOutputThatTheyHad) {
  const Admission& again = problems_.all().at(1).slots.at(11);
  EXPECT_FALSE(again.verify);
  EXPECT_FALSE(again.twice);
  EXPECT_EQ(again.output, "its hash");
  EXPECT_EQ(problems_.home_of(21), 2u);
  problems_.drop(21);
  EXPECT_FALSE(problems_.home_of(21));
}

TEST_F(OpenProblemsTest, TellEachLostCandidateOnceToAScheduleThatHasIt) {
  problems_.lose(11, kCrash);
  problems_.lose(21, kCrash);
  problems_.lose(99, kCrash);  // not admitted
  EXPECT_FALSE(problems_.home_of(11));
  EXPECT_THAT(lost({12, 99}), IsEmpty());
  EXPECT_THAT(lost({11, 12}), ElementsAre(Pair(11u, kCrash)));
  EXPECT_THAT(lost({11, 12}), IsEmpty());
  problems_.close(2);
  EXPECT_THAT(lost({21}), IsEmpty()) << "nobody asks for it any more";
}

TEST_F(OpenProblemsTest, ThatAreLostSayWhyUntilTheyAreClosed) {
  problems_.lose_all(1, kCrash);
  EXPECT_FALSE(problems_.all().contains(1));
  ASSERT_NE(problems_.why_lost(1), nullptr);
  EXPECT_EQ(*problems_.why_lost(1), kCrash);
  EXPECT_EQ(problems_.why_lost(2), nullptr);
  EXPECT_THAT(lost({12, 11}), ElementsAre(Pair(11u, kCrash), Pair(12u, kCrash)));
  problems_.close(1);
  EXPECT_EQ(problems_.why_lost(1), nullptr);
}

TEST_F(OpenProblemsTest, TheSecondDeathOfACandidateCountsUnlessItWasAcquittedMeanwhile) {
  EXPECT_FALSE(problems_.blame(11));
  EXPECT_TRUE(problems_.is_blamed(11));
  EXPECT_TRUE(problems_.blame(11));
  problems_.acquit(11);
  EXPECT_FALSE(problems_.blame(11));
  problems_.drop(11);
  EXPECT_FALSE(problems_.blame(11)) << "a slot used again has no record";
  problems_.close(1);
  EXPECT_TRUE(problems_.blame(11)) << "it was not admitted";
}

TEST_F(OpenProblemsTest, AGuiltyCandidateAcquitsTheOthersButNoLibrary) {
  for (const Slot slot : {Slot{11}, Slot{12}, kLibrarySlots}) EXPECT_FALSE(problems_.blame(slot));
  EXPECT_TRUE(problems_.blame(11));
  problems_.disqualify(11, kCrash);
  EXPECT_THAT(lost({11}), ElementsAre(Pair(11u, kCrash)));
  EXPECT_FALSE(problems_.is_blamed(12));
  EXPECT_TRUE(problems_.blame(kLibrarySlots));
}

TEST_F(OpenProblemsTest, OneThatSurvivesAloneTwiceIsUndecided) {
  EXPECT_FALSE(problems_.blame(11));
  EXPECT_FALSE(problems_.acquit_survivor(11));
  EXPECT_FALSE(problems_.is_blamed(11));
  EXPECT_TRUE(problems_.acquit_survivor(11));
}

}  // namespace
}  // namespace attune
