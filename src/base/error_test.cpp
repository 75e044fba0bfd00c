// SPDX-License-Identifier: MIT
#include "base/error.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(CheckDeathTest, NamesItsFileWithinTheRepository) {
  EXPECT_DEATH(ATTUNE_CHECK(1 > 2, "planted {}", 7),
               "^attune: bug at src/base/error_test.cpp:[0-9]+: 1 > 2: planted 7");
}

}  // namespace
}  // namespace attune
