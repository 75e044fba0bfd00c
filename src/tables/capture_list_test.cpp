// SPDX-License-Identifier: MIT
#include "tables/capture_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/table_values.h"

namespace attune {
namespace {

using testing::ElementsAre;

TEST(CaptureList, StandsInTheOrderOfTheTimeThenOfTheCalls) {
  TableSet set;
  set.tables.push_back(test_table({test_document(
      "t.csv", {test_row(1, "2"), test_row(1000, "50", "_ZN5aiter"), test_row(2000, "nan"), test_row(3000, "50")})}));
  const CapturedShapes captured[] = {
      {&test_family(),
       {{table_problem(1), 90}, {table_problem(4000), 7}, {table_problem(2000), 5}, {table_problem(3000), 4}}},
      {find_family("fmoe"), {{Problem::parse("fmoe token=16"), 8}}}};
  const CaptureList list = capture_list(captured, set, table_device());
  std::vector<std::string> shapes;
  for (const ShapeShare& one : list.shapes)
    shapes.push_back(fmt::format("{} {} {} {}", one.shape.calls, one.row, name(one.match), one.total_us));
  EXPECT_THAT(shapes, ElementsAre("4 t.csv:5 exact 200", "90 t.csv:2 exact 180", "8  fallback 0", "7  fallback 0",
                                  "5  fallback 0"));
  EXPECT_EQ(list.us, 380);
  EXPECT_EQ(list.calls, 114);
  EXPECT_EQ(list.num_without_row, 3u);
  EXPECT_EQ(list.calls_without_row, 20);
}

TEST(CaptureList, ARowCountsThoughItsSolverIsNotThere) {
  TableSet set;
  set.tables.push_back(test_table({test_document("t.csv", {test_row(1, "2", "nobody.gemm@9:a=1")})}));
  const CapturedShapes captured{&test_family(), {{table_problem(1), 3}}};
  const CaptureList list = capture_list(std::span(&captured, 1), set, table_device());
  ASSERT_EQ(list.shapes.size(), 1u);
  EXPECT_EQ(list.shapes.front().us, 2);
  EXPECT_EQ(list.num_without_row, 0u);
}

}  // namespace
}  // namespace attune
