// SPDX-License-Identifier: MIT
#include "measure/threads/left_threads.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

/// Threads that run during the next waits, a given number of them.
class ScriptedThreads final : public DeviceThreads {
 public:
  void settle(std::string_view, bool) override {}
  bool others_ran() const override { return others_ran_; }
  bool await_rest() override {
    ++num_waits;
    if (busy_waits == 0) return true;
    --busy_waits;
    return false;
  }
  void begin_watch() override {}
  Disturbance end_watch() override { return {}; }
  /// Sets whether other threads ran before the next turn.
  void set_others_ran(bool ran) { others_ran_ = ran; }
  int busy_waits = 0, num_waits = 0;

 private:
  bool others_ran_ = false;
};

class LeftThreadsTest : public testing::Test {
 protected:
  LeftThreads::Verdict turn(Slot slot) {
    left_.begin_turn();
    return left_.end_turn(slot);
  }
  ScriptedThreads threads_;
  LeftThreads left_{&threads_};
};

TEST_F(LeftThreadsTest, TurnsOfCandidatesThatRestCostNoWait) {
  for (const Slot slot : {1u, 2u, 1u, 2u}) {
    const auto verdict = turn(slot);
    EXPECT_FALSE(verdict.is_void);
    EXPECT_EQ(verdict.faulty, 0u);
  }
  EXPECT_EQ(threads_.num_waits, 0);
}

TEST_F(LeftThreadsTest, TheSampleBesideLeftThreadsIsVoidAndWhoLeftThemIsChargedAtTheThirdTimeInARow) {
  turn(1);
  threads_.set_others_ran(true);
  EXPECT_TRUE(turn(2).is_void) << "another pool's threads still ran";
  threads_.set_others_ran(false);
  EXPECT_FALSE(turn(2).is_void) << "they rest now";
  threads_.busy_waits = 1;
  EXPECT_EQ(turn(1).faulty, 0u) << "the second time";
  threads_.busy_waits = 1;
  EXPECT_TRUE(turn(2).is_void) << "within one pool, too";
  threads_.busy_waits = 1;
  EXPECT_EQ(turn(1).faulty, 0u) << "beside what was left before, nothing is known of it";
  threads_.busy_waits = 0;
  EXPECT_FALSE(turn(2).is_void);
  left_.begin_turn();
  threads_.busy_waits = 1;
  EXPECT_EQ(left_.end_turn(1).faulty, 1u);
}

TEST_F(LeftThreadsTest, OneThatRestsOnceStartsAnew) {
  turn(1);
  threads_.set_others_ran(true);
  turn(2);
  threads_.set_others_ran(false);
  for (int i = 0; i < 5; ++i) {
    left_.begin_turn();
    threads_.busy_waits = i % 2;
    EXPECT_EQ(left_.end_turn(1).faulty, 0u) << i;
    threads_.busy_waits = 0;
  }
}

TEST_F(LeftThreadsTest, AfterAScheduleThatLeavesThreadsEachOfItsCandidatesIsLookedAt) {
  turn(1);
  turn(2);
  threads_.set_others_ran(true);
  left_.end_schedule(std::vector<Turn>{{.slot = 1}, {.slot = 2}});
  threads_.set_others_ran(false);
  for (uint32_t i = 1; i <= LeftThreads::kMaxCharges; ++i) {
    EXPECT_EQ(turn(1).faulty, 0u);
    left_.begin_turn();
    threads_.busy_waits = 1;
    EXPECT_EQ(left_.end_turn(2).faulty, i < LeftThreads::kMaxCharges ? 0u : 2u);
  }
}

TEST_F(LeftThreadsTest, ACandidateThatLeavesThreadsAfterEachCallIsFoundAtItsAdmission) {
  int runs = 0;
  const auto run = [&] {
    ++runs;
    threads_.busy_waits = 3;
  };
  run();
  EXPECT_TRUE(left_.leaves(run));
  EXPECT_EQ(runs, 3);
  threads_.busy_waits = 3;
  EXPECT_FALSE(left_.leaves([] {})) << "it did so once";
  threads_.busy_waits = 1000;
  EXPECT_TRUE(left_.leaves([] {})) << "they never rest";
  threads_.busy_waits = 0;
}

TEST(LeftThreads, WithoutThreadsThereIsNothingToFind) {
  LeftThreads none(nullptr);
  none.begin_turn();
  EXPECT_FALSE(none.end_turn(1).is_void);
  none.end_schedule(std::vector<Turn>{{.slot = 1}});
  EXPECT_FALSE(none.leaves([] {}));
}

}  // namespace
}  // namespace attune
