// SPDX-License-Identifier: MIT
#include "base/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

namespace attune {
namespace {

/// A kernel for 4,096 processors, of which a thread may use two.
int large_machine(pid_t, size_t bytes, cpu_set_t* mask) {
  if (bytes < 4096 / 8) {
    errno = EINVAL;
    return -1;
  }
  std::memset(mask, 0, bytes);
  auto* const words = reinterpret_cast<unsigned long*>(mask);
  words[0] = 1UL << 5;
  words[3000 / 64] = 1UL << (3000 % 64);
  return 0;
}

int nothing(pid_t, size_t, cpu_set_t*) {
  errno = EINVAL;
  return -1;
}

TEST(Machine, NamesTheCoresOfMoreThan1024) {
  EXPECT_THAT(cores_of_thread(0, large_machine), testing::ElementsAre(5, 3000));
}

TEST(Machine, NamesNoCoresWhereTheKernelDoesNot) { EXPECT_THAT(cores_of_thread(0, nothing), testing::IsEmpty()); }

TEST(Machine, BindsAThreadToSomeOfItsCoresAndBack) {
  const std::vector<int> before = allowed_cores();
  ASSERT_FALSE(before.empty());
  ASSERT_TRUE(bind_thread(0, std::span(before).first(1)));
  EXPECT_THAT(allowed_cores(), testing::ElementsAre(before[0]));
  ASSERT_TRUE(bind_thread(0, before));
  EXPECT_EQ(allowed_cores(), before);
  EXPECT_FALSE(bind_thread(0, std::vector<int>{-1, 1 << 20})) << "none of them";
  EXPECT_EQ(allowed_cores(), before);
}

}  // namespace
}  // namespace attune
