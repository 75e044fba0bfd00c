// SPDX-License-Identifier: MIT
#include "dispatch/table/rows_by_m.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <vector>

namespace attune {
namespace {

GroupKey group(uint64_t number) {
  const std::array<int64_t, 3> values = {0, static_cast<int64_t>(number), 7};
  return GroupKey::of(OpId::gemm_a8w8, values, 0, 0);
}

TEST(RowsByMTest, FindsTheNextRowsAsAMapDoes) {
  std::mt19937 random(11);
  std::map<uint64_t, std::map<uint32_t, uint32_t>> slow;
  std::vector<RowsByM::Member> members;
  for (uint32_t i = 1; i <= 3000; ++i) {
    const uint64_t n = random() % 200;
    const auto m = static_cast<uint32_t>(1 + random() % 500);
    if (!slow[n].emplace(m, i).second) continue;
    members.push_back({RowsByM::print_of(group(n)), m, i});
  }
  const RowsByM groups(std::move(members));
  for (uint64_t n = 0; n < 220; ++n) {
    for (const int64_t m :
         {int64_t{1}, int64_t{250}, int64_t{500}, int64_t{1} << 40, static_cast<int64_t>(random() % 500)}) {
      uint32_t below = 0, above = 0;
      for (const auto& [row_m, number] : slow[n]) {
        if (row_m < m) below = number;
        if (row_m > m && above == 0) above = number;
      }
      EXPECT_EQ(groups.around(group(n), m).below, below) << n << " " << m;
      EXPECT_EQ(groups.around(group(n), m).above, above) << n << " " << m;
    }
  }
}

TEST(RowsByMTest, NoRows) {
  const RowsByM none;
  EXPECT_EQ(none.around(group(1), 5).below, 0u);
  EXPECT_EQ(none.around(group(1), 5).above, 0u);
}

}  // namespace
}  // namespace attune
