// SPDX-License-Identifier: MIT
#include "tables/row_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/table_values.h"

namespace attune {
namespace {

using testing::ElementsAre;
using enum RowStatus;

/// Returns the statuses as text: the row's place, then the winning row's.
std::vector<std::string> reports(const Table& table, const DeviceInfo* device = nullptr) {
  std::vector<std::string> texts;
  for (const RowReport& one : row_statuses(table, device)) {
    texts.push_back(fmt::format("{} {}", place_of(table, *one.row), name(one.status)));
    if (one.by) texts.back() += " " + place_of(table, *one.by);
  }
  return texts;
}

std::vector<RowStatus> statuses(const Table& table, const DeviceInfo* device = nullptr) {
  std::vector<RowStatus> found;
  for (const RowReport& one : row_statuses(table, device)) found.push_back(one.status);
  return found;
}

TEST(RowStatus, TheFirstFileWinsAndInsideItTheLowestTime) {
  const Table table = test_table({test_document("a.csv", {test_row(1, "3"), test_row(1, "2"), test_row(1, "2")}),
                                  test_document("b.csv", {test_row(1, "1"), test_row(2, "1")})});
  EXPECT_THAT(reports(table), ElementsAre("a.csv:2 is slower than another row of its file a.csv:3", "a.csv:3 is taken",
                                          "a.csv:4 is slower than another row of its file a.csv:3",
                                          "b.csv:2 is shadowed by an earlier file a.csv:3", "b.csv:3 is taken"));
}

TEST(RowStatus, TimesThatTheRunTimeCannotTellApartAreEqual) {
  const Table table = test_table({test_document("a.csv", {test_row(1, "7.00000002"), test_row(1, "7.00000001")})});
  EXPECT_THAT(statuses(table), ElementsAre(taken, slower));
}

TEST(RowStatus, RowsWithATagOrWithoutATimeBeatNobody) {
  const Table table = test_table({test_document(
      "a.csv", {test_row(1, "0") + ",", test_row(1, "1") + ",slow_boot", test_row(1, "9") + ","}, ",_tag")});
  EXPECT_THAT(statuses(table), ElementsAre(without_time, tagged, taken));
}

TEST(RowStatus, OnADeviceRowsOfOthersBeatNobody) {
  const Table table = test_table(
      {test_document("a.csv", {test_row(1, "1", kTestKernel, "fake,8") + ",", test_row(1, "2") + ",B"}, ",device"),
       test_document("b.csv", {test_row(1, "3") + ",A", test_row(1, "4") + ","}, ",device")});
  DeviceInfo device = table_device();
  device.model = "A";
  EXPECT_THAT(statuses(table, &device), ElementsAre(other_device, other_model, taken, slower));
  device.model.clear();  // A device that does not know its model takes rows of any.
  EXPECT_THAT(statuses(table, &device), ElementsAre(other_device, taken, shadowed, shadowed));
}

TEST(RowStatus, ForAllDevicesARowOfNoModelLosesOnlyToAnother) {
  const Table table =
      test_table({test_document("a.csv", {test_row(1, "1") + ",A", test_row(1, "2") + ",B"}, ",device"),
                  test_document("b.csv", {test_row(1, "3") + ",", test_row(1, "4") + ",A"}, ",device"),
                  test_document("c.csv", {test_row(1, "5") + ",", test_row(1, "6") + ",C"}, ",device")});
  EXPECT_THAT(statuses(table), ElementsAre(taken, taken, taken, shadowed, shadowed, shadowed));
}

TEST(RowStatus, ALayoutIsAPartOfTheKeyAndAnEmptyOneMeansPlain) {
  const Table table = test_table({test_document(
      "a.csv", {test_row(1, "3") + ",", test_row(1, "2") + ",plain", test_row(1, "4") + ",host.v1"}, ",layout")});
  EXPECT_THAT(statuses(table), ElementsAre(slower, taken, taken));
}

TEST(RowStatus, FilesAreCountedByRowsAndShadowsByKeys) {
  const Table table = test_table(
      {test_document("a.csv", {test_row(1, "3"), test_row(2, "nan")}),
       test_document("b.csv", {test_row(1, "1"), test_row(1, "2"), test_row(2, "5", kTestKernel, "gfx942,304")})});
  const auto rows = row_statuses(table);
  const auto counts = file_counts(table, rows, table_device());
  const auto numbers = [](const FileCounts& one) {
    return std::vector<size_t>{one.num_rows,         one.num_taken,   one.num_of_device, one.num_taken_of_device,
                               one.num_without_time, one.num_shadowed};
  };
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_THAT(numbers(counts[0]), ElementsAre(2, 1, 2, 1, 1, 0));
  EXPECT_THAT(numbers(counts[1]), ElementsAre(3, 1, 2, 0, 0, 1));
  EXPECT_THAT(count_statuses(rows), ElementsAre(2, 2, 0, 1, 0, 0, 0));
}

}  // namespace
}  // namespace attune
