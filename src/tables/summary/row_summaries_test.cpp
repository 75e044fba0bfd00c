// SPDX-License-Identifier: MIT
#include "tables/summary/row_summaries.h"

#include <gmock/gmock.h>

#include "tables/table_lookup.h"
#include "testing/table_values.h"

namespace attune {
namespace {

TEST(RowSummaries, AreSpelledAsDecisionsAreAndSayWhatBecomesOfThem) {
  TableSet set;
  set.tables.push_back(test_table({test_document(
      "t.csv", {test_row(1, "2"), test_row(1, "3"), test_row(2, "0", "known.gemm@1:a=2", "gfx942,304")})}));
  set.notices = {"a sentence"};
  const RowSummaries all = row_summaries(set);
  ASSERT_EQ(all.rows.size(), 3u);
  const RowSummary& first = all.rows[0];
  EXPECT_EQ(first.family, "gemm_a16w16");
  EXPECT_EQ(first.place, "t.csv:2");
  EXPECT_EQ(first.problem, table_problem(1).key());
  EXPECT_EQ(first.device, "fake/4");
  EXPECT_EQ(first.kernel, kTestKernel);
  EXPECT_EQ(first.us, 2);
  EXPECT_TRUE(first.is_taken);
  EXPECT_FALSE(all.rows[1].is_taken);
  EXPECT_THAT(all.rows[1].use, testing::StartsWith("is slower than another row of its file: t.csv:2"));
  EXPECT_EQ(all.rows[2].device, "gfx942/304");
  EXPECT_FALSE(all.rows[2].us);
  EXPECT_THAT(all.rows[2].use, testing::StartsWith("has no usable time: "));
  EXPECT_EQ(all.notices, set.notices);
}

}  // namespace
}  // namespace attune
