// SPDX-License-Identifier: MIT
#include "dispatch/plans/answer_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "dispatch/plans/plan_cache.h"
#include "dispatch/threads/read_guard.h"

namespace attune {
namespace {

ProblemKey hash(uint64_t number) { return {number, number * 0x9e3779b97f4a7c15}; }

TEST(ServedMapTest, KeepsThePlansAndTheYoungerHalfOfTheRest) {
  AnswerCache map;
  CachedPlan plan;
  for (uint64_t i = 1; i <= 3000; ++i) map.put({.hash = hash(i), .plan = i % 3 == 0 ? &plan : nullptr});
  map.bound_without_plan(2000);
  EXPECT_EQ(map.size(), 3000u);
  map.bound_without_plan(1999);
  EXPECT_EQ(map.size(), 2000u);
  for (uint64_t i = 1; i <= 3000; ++i) {
    const CachedAnswer* found = map.find(hash(i));
    EXPECT_EQ(found != nullptr, i % 3 == 0 || i > 1500) << i;
    if (found != nullptr) {
      EXPECT_EQ(found->hash, hash(i));
    }
  }
  EXPECT_EQ(map.all().size(), 2000u);
  map.put({.hash = hash(1)});
  EXPECT_NE(map.find(hash(1)), nullptr);
}

TEST(ServedMapTest, WithdrawsAnAnswerOfAPlanAndOfNoOther) {
  AnswerCache map;
  CachedPlan one, other;
  map.put({.hash = hash(1), .plan = &one, .was_served = true});
  map.withdraw(hash(1), other);
  map.withdraw(hash(2), one);
  EXPECT_EQ(map.find(hash(1))->plan, &one);
  map.withdraw(hash(1), one);
  EXPECT_EQ(map.find(hash(1))->plan, nullptr);
  EXPECT_TRUE(map.find(hash(1))->has_left);
  EXPECT_TRUE(map.find(hash(1))->was_served);
  EXPECT_EQ(map.size(), 1u);
  EXPECT_EQ(map.num_replaced(), 1u);
  map.free_replaced();
  EXPECT_EQ(map.num_replaced(), 0u);
}

TEST(ServedMapTest, IsReadWhileItChanges) {
  constexpr uint64_t kNumHashes = 400;
  AnswerCache map;
  CachedPlan plan;
  prepare_read_guards();
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    while (!stop) {
      for (uint64_t i = 0; i < kNumHashes; ++i) {
        const ReadGuard reading;
        const CachedAnswer* found = map.find(hash(i));
        if (found != nullptr) {
          EXPECT_EQ(found->hash, hash(i));
        }
      }
    }
  });
  for (uint64_t i = 0; i < 4000; ++i) {
    map.put({.hash = hash(i % kNumHashes), .plan = i % 2 == 0 ? &plan : nullptr});
    if (i % 16 == 0) map.bound_without_plan(kNumHashes / 8);
    if (i % 64 == 0 && wait_for_readers()) map.free_replaced();
  }
  stop = true;
  reader.join();
}

}  // namespace
}  // namespace attune
