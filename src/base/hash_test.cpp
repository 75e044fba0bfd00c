// SPDX-License-Identifier: MIT
#include "base/hash.h"

#include <gtest/gtest.h>

namespace attune {
TEST(Hash, IsTheSameOnEveryMachine) {
  EXPECT_EQ(hash128("attune").hex().size(), 32u);
  EXPECT_EQ(hash128("").hex(), "99aa06d3014798d86001c324468d497f");
}
TEST(Hash, SeedsOfDifferentStreamsDiffer) {
  EXPECT_NE(derive_seed(1, "a"), derive_seed(1, "b"));
  EXPECT_EQ(derive_seed(1, "a"), derive_seed(1, "a"));
}
}  // namespace attune
