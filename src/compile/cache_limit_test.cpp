// SPDX-License-Identifier: MIT
#include "compile/cache_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/environment.h"

namespace attune {
namespace {

TEST(CacheLimit, IsThatOfTheVariableElseTheCallersOwn) {
  const TestEnvironment unset("ATTUNE_MAX_CACHE_BYTES", "");
  EXPECT_EQ(cache_limit(7).bytes, 7u);
  const TestEnvironment set("ATTUNE_MAX_CACHE_BYTES", "123456789012");
  EXPECT_EQ(cache_limit(7).bytes, 123'456'789'012u);
  EXPECT_EQ(cache_limit(7).error, "");
}

TEST(CacheLimit, OfAWrongVariableIsTheCallersOwnWithASentence) {
  for (const char* wrong : {"1G", "-1", "much", "99999999999999999999"}) {
    const TestEnvironment set("ATTUNE_MAX_CACHE_BYTES", wrong);
    EXPECT_EQ(cache_limit(7).bytes, 7u) << wrong;
    EXPECT_THAT(cache_limit(7).error, testing::HasSubstr(wrong));
  }
}

}  // namespace
}  // namespace attune
