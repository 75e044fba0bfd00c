// SPDX-License-Identifier: MIT
#include "device/core_partition.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "base/error.h"
#include "device/core_binding.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::ElementsAre;

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

/// A machine in sysfs: two packages, whose core numbers alternate. Each core has two processors.
void write_topology(const TestFolder& folder) {
  for (int core = 0; core < 16; ++core) {
    const std::string place = fmt::format("sys/devices/system/cpu/cpu{}/", core);
    std::filesystem::create_directories(folder.path() / place / "topology");
    folder.put(place + "topology/physical_package_id", fmt::format("{}\n", core % 2));
    folder.put(place + "topology/core_id", fmt::format("{}\n", core / 2 % 4));
  }
}

TEST(PartitionCores, KeepsPackagesAndTheProcessorsOfACoreTogether) {
  const TestFolder folder;
  write_topology(folder);
  std::vector<int> cores(16);
  std::iota(cores.begin(), cores.end(), 0);
  const auto in_parts = [&](size_t parts) { return partition_cores(cores, parts, folder.path()); };
  EXPECT_THAT(in_parts(2), ElementsAre(ElementsAre(0, 2, 4, 6, 8, 10, 12, 14), ElementsAre(1, 3, 5, 7, 9, 11, 13, 15)));
  EXPECT_THAT(in_parts(4), ElementsAre(ElementsAre(0, 2, 8, 10), ElementsAre(4, 6, 12, 14), ElementsAre(1, 3, 9, 11),
                                       ElementsAre(5, 7, 13, 15)));
  EXPECT_THAT(partition_cores({0, 1, 2, 3, 4}, 2, folder.path()), ElementsAre(ElementsAre(0, 2), ElementsAre(1, 3)));
}

TEST(PartitionCores, DividesByNumberWhereTheKernelTellsNothing) {
  const TestFolder folder;
  EXPECT_THAT(partition_cores({4, 5, 6, 7}, 2, folder.path()), ElementsAre(ElementsAre(4, 5), ElementsAre(6, 7)));
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
