// SPDX-License-Identifier: MIT
#include "solver/threads/team_size.h"

#include <gtest/gtest.h>

#include <thread>

namespace attune {
namespace {

TEST(TeamSizes, AreOfTheCallingThread) {
  const TeamSizes sizes = TeamSizes::make(), same = sizes, others = TeamSizes::make();
  EXPECT_EQ(sizes.here(), 1);
  sizes.set_here(4);
  EXPECT_EQ(same.here(), 4) << "of another module";
  EXPECT_EQ(others.here(), 1);
  std::thread([&] { EXPECT_EQ(sizes.here(), 1); }).join();
}

TEST(TeamSizes, WithoutAKeyAreAlwaysNew) {
  const TeamSizes none;
  none.set_here(4);
  EXPECT_EQ(none.here(), 1);
}

}  // namespace
}  // namespace attune
