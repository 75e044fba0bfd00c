// SPDX-License-Identifier: MIT
#include "dispatch/threads/read_guard.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace attune {
namespace {

TEST(ReadGuardTest, WaitsForWhoReadsAndForNobodyElse) {
  wait_for_readers();
  std::atomic<int> step = 0;
  std::thread reader([&] {
    const ReadGuard reading;
    step = 1;
    while (step != 2) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  std::thread waiter([&] {
    wait_for_readers();
    EXPECT_EQ(step, 2);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  step = 2;
  reader.join();
  waiter.join();
}

}  // namespace
}  // namespace attune
