// SPDX-License-Identifier: MIT
#include "device/core_partition.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "device/core_binding.h"

namespace attune {
namespace {

TEST(PartitionCores, GivesPartsOfEqualSizeThatShareNoCore) {
  const auto whole = partition_cores(1);
  ASSERT_EQ(whole.size(), 1u);
  ASSERT_FALSE(whole[0].empty());
  const size_t cores = whole[0].size();
  for (size_t parts = 1; parts <= cores; ++parts) {
    std::set<int> seen;
    for (const auto& part : partition_cores(parts)) {
      EXPECT_EQ(part.size(), partition_cores(parts).front().size());
      for (const int core : part) EXPECT_TRUE(seen.insert(core).second) << core;
    }
    EXPECT_FALSE(seen.empty());
  }
  EXPECT_THROW(partition_cores(cores + 1), Error);
  EXPECT_THROW(partition_cores(0), Error);
}

TEST(CoreBinding, LastsAsLongAsItsObject) {
  const auto whole = partition_cores(1);
  {
    const CoreBinding binding({whole[0].back()});
    EXPECT_EQ(partition_cores(1), (std::vector<std::vector<int>>{{whole[0].back()}}));
  }
  EXPECT_EQ(partition_cores(1), whole);
  const CoreBinding none({});
  EXPECT_EQ(partition_cores(1), whole);
}

}  // namespace
}  // namespace attune
