// SPDX-License-Identifier: MIT
#include "dispatch/plans/plan_cache.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "attune/error.h"
#include "dispatch/threads/hazard_pointers.h"
#include "dispatch/threads/read_guard.h"

namespace attune {
namespace {

/// A plan that states its size and tracks whether it is alive.
class WeighedPlan final : public Plan {
 public:
  WeighedPlan(uint64_t bytes, int number, std::set<int>& alive, uint64_t device_bytes = 0)
      : number_(number), alive_(alive) {
    traits_.host_bytes = bytes;
    traits_.device_bytes = device_bytes;
    alive_.insert(number_);
  }
  ~WeighedPlan() override { alive_.erase(number_); }
  WeighedPlan(const WeighedPlan&) = delete;
  WeighedPlan& operator=(const WeighedPlan&) = delete;
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch&) const override {}

 private:
  PlanTraits traits_;
  int number_;
  std::set<int>& alive_;
};

class PlanCacheTest : public testing::Test {
 protected:
  static constexpr uint64_t kBytes = 1000, kMaxBytes = 8 * (kBytes + PlanCache::kOverheadBytes);

  static PlanCache::Name name(int number) { return {std::to_string(number), "a"}; }
  CachedPlan* insert(int number, uint64_t bytes = kBytes, uint64_t device_bytes = 0) {
    return cache_.insert(name(number), std::make_unique<WeighedPlan>(bytes, number, alive_, device_bytes), false, 0);
  }
  /// Like the dispatcher after each plan that it makes.
  void make_room() {
    cache_.shrink([](const CachedPlan&) {});
    cache_.free_unreferenced(wait_for_readers());
  }
  void insert_all(int first, int end) {
    for (int number = first; number < end; ++number) {
      insert(number);
      make_room();
    }
  }

  std::set<int> alive_;
  PlanCache cache_{kMaxBytes, new_hazard_owner()};
};

TEST_F(PlanCacheTest, TheLeastRecentlyUsedLeave) {
  insert_all(0, 8);
  EXPECT_EQ(alive_, (std::set<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  for (const int used : {0, 3}) cache_.find(name(used))->note_use(cache_.time());
  insert_all(8, 9);
  EXPECT_EQ(alive_, (std::set<int>{0, 3, 4, 5, 6, 7, 8})) << "an eighth of the bound is free then";
  EXPECT_EQ(cache_.find(name(1)), nullptr);
  EXPECT_EQ(cache_.counts().plans, 7u);
  EXPECT_EQ(cache_.counts().evicted, 2u);
  EXPECT_EQ(cache_.counts().limit_reached, 1u);
  EXPECT_EQ(cache_.counts().bytes, 7 * (kBytes + PlanCache::kOverheadBytes));
}

TEST_F(PlanCacheTest, MemoryOnTheDeviceHasABoundOfItsOwn) {
  cache_.bound_device_bytes(800);
  insert(0);
  for (int number = 1; number < 4; ++number) insert(number, kBytes, 250);
  make_room();
  EXPECT_EQ(alive_.size(), 4u);
  insert(4, kBytes, 250);
  make_room();
  EXPECT_EQ(alive_, (std::set<int>{0, 3, 4})) << "what holds none there may stay, and an eighth is free";
  EXPECT_EQ(cache_.counts().device_limit_reached, 1u);
  EXPECT_EQ(cache_.counts().limit_reached, 0u) << "the other bound was not reached";
  EXPECT_FALSE(insert(5, kBytes, 801)->is_kept);
  EXPECT_EQ(cache_.counts().plans, 3u);
  EXPECT_TRUE(cache_.is_mostly_full(0, 601));
  EXPECT_FALSE(cache_.is_mostly_full(kMaxBytes / 2, 600));
  EXPECT_TRUE(cache_.is_mostly_full(kMaxBytes - 1, 0));
}

TEST_F(PlanCacheTest, APlanThatExceedsABoundAloneCountsForThatBoundOnce) {
  cache_.bound_device_bytes(800);
  for (const int number : {0, 1}) EXPECT_FALSE(insert(number, kBytes, 801)->is_kept);
  EXPECT_EQ(cache_.counts().device_limit_reached, 1u);
  EXPECT_EQ(cache_.counts().limit_reached, 0u);
  EXPECT_FALSE(insert(2, kMaxBytes)->is_kept);
  EXPECT_EQ(cache_.counts().limit_reached, 1u);
  EXPECT_EQ(cache_.counts().device_limit_reached, 1u);
}

TEST_F(PlanCacheTest, SaysWhichPlansLeaveSoThatAnswersAreWithdrawnFirst) {
  insert(0)->answers.push_back({1, 2});
  for (int number = 1; number < 9; ++number) insert(number);
  std::vector<ProblemKey> withdrawn;
  cache_.shrink([&](const CachedPlan& gone) {
    EXPECT_EQ(alive_.size(), 9u);
    withdrawn.insert(withdrawn.end(), gone.answers.begin(), gone.answers.end());
  });
  EXPECT_EQ(withdrawn.size(), 1u);
  EXPECT_TRUE(cache_.is_grace_due());
  cache_.free_unreferenced(false);
  EXPECT_TRUE(alive_.contains(0)) << "a lookup that goes on may have found it";
  cache_.free_unreferenced(true);
  EXPECT_FALSE(alive_.contains(0));
}

TEST_F(PlanCacheTest, AThreadThatStallsKeepsWhatItHoldsAndNothingElse) {
  insert(0);
  insert(1);
  protect_plan(cache_.holder(), cache_.find(name(0)));
  insert_all(2, 50);
  EXPECT_TRUE(alive_.contains(0));
  EXPECT_FALSE(alive_.contains(1));
  EXPECT_EQ(cache_.find(name(0)), nullptr) << "it has left all the same";
  EXPECT_LE(cache_.counts().bytes, kMaxBytes + kBytes + PlanCache::kOverheadBytes);
  protect_plan(cache_.holder(), cache_.find(name(49)));
  make_room();
  EXPECT_FALSE(alive_.contains(0));
}

TEST_F(PlanCacheTest, AThreadThatEndsHoldsNothing) {
  insert(0);
  std::thread([&] { protect_plan(cache_.holder(), cache_.find(name(0))); }).join();
  insert_all(1, 20);
  EXPECT_FALSE(alive_.contains(0));
  EXPECT_TRUE(protected_plans(cache_.holder()).empty());
}

TEST_F(PlanCacheTest, AThreadHoldsAPlanOfEachDispatcher) {
  std::set<int> alive;
  PlanCache other(kMaxBytes, new_hazard_owner());
  insert(0);
  protect_plan(cache_.holder(), cache_.find(name(0)));
  protect_plan(other.holder(), other.insert(name(0), std::make_unique<WeighedPlan>(1, 0, alive), false, 0));
  insert_all(1, 20);
  EXPECT_TRUE(alive_.contains(0)) << "a call of another dispatcher lets nothing go";
  forget_hazard_owner(cache_.holder());
  make_room();
  EXPECT_FALSE(alive_.contains(0));
  EXPECT_EQ(protected_plans(other.holder()).size(), 1u);
}

TEST_F(PlanCacheTest, AHandleOutlivesAll) {
  std::shared_ptr<const Plan> handle = insert(0)->plan;
  insert_all(1, 20);
  EXPECT_EQ(cache_.find(name(0)), nullptr);
  EXPECT_TRUE(alive_.contains(0));
  EXPECT_LE(cache_.counts().bytes, kMaxBytes) << "it is the handle's";
  handle.reset();
  EXPECT_FALSE(alive_.contains(0));
}

TEST_F(PlanCacheTest, APlanLargerThanTheBoundLeavesTheOthersWhereTheyAre) {
  insert(0);
  CachedPlan* large = insert(1, kMaxBytes);
  EXPECT_FALSE(large->is_kept);
  protect_plan(cache_.holder(), large);
  make_room();
  EXPECT_EQ(alive_, (std::set<int>{0, 1}));
  protect_plan(cache_.holder(), cache_.find(name(0)));
  make_room();
  EXPECT_EQ(alive_, (std::set<int>{0}));
}

TEST_F(PlanCacheTest, APlanThatStatesNothingIsTakenForALargeOne) {
  PlanCache cache(2 * PlanCache::kUnstatedBytes, new_hazard_owner());
  EXPECT_TRUE(cache.insert(name(0), std::make_unique<WeighedPlan>(0, 0, alive_), false, 0)->is_kept);
  EXPECT_FALSE(cache.is_over());
  cache.insert(name(1), std::make_unique<WeighedPlan>(0, 1, alive_), false, 0);
  EXPECT_TRUE(cache.is_over());
}

}  // namespace
}  // namespace attune
