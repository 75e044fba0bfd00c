// SPDX-License-Identifier: MIT
#include "formats/csv/row_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace attune {
namespace {

TEST(RowChoice, AnEarlierFileWinsWhateverItsTime) {
  EXPECT_LT(RowRank(0, 100), RowRank(1, 1));
  EXPECT_LT(RowRank(1, 100), RowRank(2, 1));
}

TEST(RowChoice, InsideAFileTheLowerTimeWins) {
  EXPECT_LT(RowRank(1, 4.99), RowRank(1, 5));
  EXPECT_FALSE(RowRank(1, 5) < RowRank(1, 4.99));
}

TEST(RowChoice, OfEqualTimesTheFirstRowWins) {
  const std::vector<RowRank> rows = {{1, 5}, {0, 7.00000002}, {0, 7.00000001}, {0, 7}};
  EXPECT_EQ(std::min_element(rows.begin(), rows.end()) - rows.begin(), 1);
}

TEST(RowChoice, ARowWithoutAModelServesAnyDeviceAndADeviceWithoutOneTakesAnyRow) {
  EXPECT_TRUE(is_of_model("", "Genoa"));
  EXPECT_TRUE(is_of_model("Genoa", ""));
  EXPECT_TRUE(is_of_model("Genoa", "Genoa"));
  EXPECT_FALSE(is_of_model("Genoa", "Turin"));
}

}  // namespace
}  // namespace attune
