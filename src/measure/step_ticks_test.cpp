// SPDX-License-Identifier: MIT
#include "measure/step_ticks.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace attune {
namespace {

constexpr Milliseconds kPause{105};

struct ListedSlots final : Announcer {
  void announce(Slot slot, Milliseconds) override { slots.push_back(slot); }
  void end_worker(const std::string& why) noexcept override { ending = why; }
  std::vector<Slot> slots;
  std::string ending;
};

TEST(StepTicks, PassEverythingOn) {
  ListedSlots inner;
  StepTicks ticks(&inner);
  ticks.announce(3, {});
  ticks.announce(0, {});
  ticks.end_worker("planted");
  EXPECT_EQ(inner.slots, (std::vector<Slot>{3, 0}));
  EXPECT_EQ(inner.ending, "planted");
  StepTicks alone(nullptr);
  alone.announce(3, {});
  alone.end_worker("nobody's");
  EXPECT_FALSE(alone.is_stopped());
}

TEST(StepTicks, CallTheTickTenTimesASecondAtMostAndBeforeTheAnnouncement) {
  ListedSlots inner;
  StepTicks ticks(&inner);
  std::vector<size_t> before;
  ticks.set([&] {
    before.push_back(inner.slots.size());
    return false;
  });
  for (int i = 0; i < 1000; ++i) ticks.announce(1, {});
  std::this_thread::sleep_for(kPause);
  ticks.announce(2, {});
  EXPECT_EQ(before, (std::vector<size_t>{1000}));
  EXPECT_EQ(inner.slots.back(), 2u);
}

TEST(StepTicks, StopOneRequestAtTheFirstYes) {
  StepTicks ticks(nullptr);
  int num_ticks = 0;
  ticks.set([&] { return ++num_ticks == 1; });
  std::this_thread::sleep_for(kPause);
  EXPECT_TRUE(ticks.is_stopped());
  std::this_thread::sleep_for(kPause);
  EXPECT_TRUE(ticks.is_stopped()) << "it was stopped";
  EXPECT_EQ(num_ticks, 1) << "nobody needs to be asked again";
  ticks.begin_request();
  EXPECT_FALSE(ticks.is_stopped());
  EXPECT_EQ(num_ticks, 2);
}

}  // namespace
}  // namespace attune
