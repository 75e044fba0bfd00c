// SPDX-License-Identifier: MIT
#include "tuner/problem/look_ahead.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(LookAhead, KeepsAllCompilersBusyWhileNothingIsKnown) {
  EXPECT_EQ(LookAhead().window(4, 16), 24u);
  EXPECT_EQ(LookAhead().window(0, 0), 2u);
}

TEST(LookAhead, IsAsManyCandidatesAsAreAdmittedWhileOneIsCompiled) {
  LookAhead rates;
  for (int i = 0; i < 10; ++i) rates.admitted(0.1, 0.025);
  EXPECT_EQ(rates.window(64, 16), 8u) << "twice as many, because some take longer";
  rates.admitted(0.1, 0);
  EXPECT_EQ(rates.window(64, 16), 16u) << "a power of two";
  EXPECT_EQ(rates.window(2, 2), 6u) << "more would wait for a compiler";
}

TEST(LookAhead, LeavesTimeToTheSearchWhereNothingHasToBeCompiled) {
  LookAhead rates;
  rates.admitted(0, 0.02);
  EXPECT_EQ(rates.window(4, 16), 4u);
}

}  // namespace
}  // namespace attune
