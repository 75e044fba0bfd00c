// SPDX-License-Identifier: MIT
#include "server/journal/seen_keys.h"

#include <gtest/gtest.h>

#include <string>

namespace attune {
namespace {

TEST(SeenKeys, HoldWhatWasPutInAndNothingElse) {
  SeenKeys keys(2000);
  EXPECT_FALSE(keys.contains("0"));
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(keys.insert(std::to_string(i))) << i;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(keys.insert(std::to_string(i))) << i;
    EXPECT_TRUE(keys.contains(std::to_string(i))) << i;
    EXPECT_FALSE(keys.contains(std::to_string(1000 + i))) << i;
  }
  EXPECT_FALSE(keys.is_full());
  keys.clear();
  EXPECT_FALSE(keys.contains("0"));
  EXPECT_TRUE(keys.insert("0"));
}

TEST(SeenKeys, AreBounded) {
  SeenKeys keys(2);
  keys.insert("a");
  keys.insert("a");
  EXPECT_FALSE(keys.is_full());
  keys.insert("b");
  EXPECT_TRUE(keys.is_full());
}

}  // namespace
}  // namespace attune
