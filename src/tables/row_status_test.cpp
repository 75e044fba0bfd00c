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
std::vector<std::string> reports(const Table& table, const DeviceInfo* device = nullptr,
                                 Requirement required = Requirement::none) {
  std::vector<std::string> texts;
  for (const RowReport& one : row_statuses(table, device, required)) {
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

TEST(RowStatus, ARowThatCannotServeBeatsNone) {
  const Table table =
      test_table({test_document("a.csv", {test_row(1, "1", "old@1:x=1"), test_row(1, "3"), test_row(1, "2")}),
                  test_document("b.csv", {test_row(1, "1"), test_row(2, "1", "old@1:x=1")})});
  const DeviceInfo device = table_device();
  size_t asked = 0;
  const auto can_serve = [&](const TableRow& row) {
    ++asked;
    return row.kernel_name != "old@1:x=1";
  };
  std::vector<RowStatus> found;
  for (const RowReport& one : row_statuses(table, &device, Requirement::none, {}, can_serve))
    found.push_back(one.status);
  EXPECT_THAT(found, ElementsAre(taken, slower, taken, shadowed, taken));
  EXPECT_EQ(asked, 3u) << "only of rows that would beat another";
}

TEST(RowStatus, ARowOfABannedKernelCompetesWithNone) {
  const Table table =
      test_table({test_document("a.csv", {test_row(1, "1", "a@1:x=1"), test_row(1, "2"),
                                          test_row(1, "1", "a@1:x=1", "fake,2"), test_row(2, "1", "b@1:x=1")})});
  const BanList bans({{"a@1:x=1", "fake/4", "", "wrong"},
                      {"b@1:x=1", "", "gemm_a16w16 m=2 n=64 k=64 dtype=fp32 outdtype=fp32 bias=0", "for that alone"}});
  const auto found = row_statuses(table, nullptr, Requirement::none, bans);
  EXPECT_EQ(found[0].status, banned);
  EXPECT_EQ(detail_of(table, found[0]), "wrong");
  EXPECT_EQ(found[1].status, taken);
  EXPECT_EQ(found[2].status, taken) << "of another device";
  EXPECT_EQ(found[3].status, taken) << "a ban for one problem is one of calls, not of rows";
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

TEST(RowStatus, UnderARequirementOnlyRowsThatStateItCompete) {
  const Table table = test_table({test_document(
      "a.csv", {test_row(1, "1") + ",", test_row(1, "3") + ",deterministic", test_row(1, "2") + ",batch-invariant"},
      ",require")});
  const DeviceInfo device = table_device();
  EXPECT_THAT(statuses(table, &device), ElementsAre(taken, taken, taken)) << "each in some process";
  EXPECT_THAT(reports(table, &device, Requirement::deterministic),
              ElementsAre("a.csv:2 does not state what is required",
                          "a.csv:3 is slower than another row of its file a.csv:4", "a.csv:4 is taken"));
}

TEST(RowStatus, UnderBatchInvariantTheFirstRowOfAWeightNamesItsKernel) {
  const std::string_view other = "known.gemm@1:a=2";
  const Table table =
      test_table({test_document("a.csv",
                                {test_row(8, "9") + ",deterministic", test_row(1, "9") + ",batch-invariant",
                                 test_row(1, "1", other) + ",batch-invariant",
                                 test_row(2, "1", other) + ",batch-invariant", test_row(4, "1") + ",batch-invariant"},
                                ",require")});
  const DeviceInfo device = table_device();
  EXPECT_THAT(reports(table, &device, Requirement::batch_invariant),
              ElementsAre("a.csv:2 does not state what is required", "a.csv:3 is taken",
                          "a.csv:4 names another kernel than the first row of its weight a.csv:3",
                          "a.csv:5 names another kernel than the first row of its weight a.csv:3", "a.csv:6 is taken"));
}

TEST(RowStatus, ARowOfAnotherModelIsThatWhateverElseItLacks) {
  const Table table = test_table({test_document("a.csv", {test_row(1, "0") + ",B,slow_boot"}, ",device,_tag")});
  DeviceInfo device = table_device();
  device.model = "A";
  EXPECT_THAT(statuses(table, &device), ElementsAre(other_model));
}

TEST(RowKernels, ServeIfKnownReadableAndUsable) {
  const auto why = [](std::string_view name, std::optional<std::string_view> layout) {
    const KernelCheck usable = [](const Candidate& one) {
      return one.solver == "lost.gemm" ? std::optional<std::string>("it is lost") : std::nullopt;
    };
    return row_kernel(name, layout, usable).why_unservable.value_or("");
  };
  EXPECT_EQ(why(kTestKernel, ""), "");
  EXPECT_EQ(why(kTestKernel, "plain"), "");
  EXPECT_EQ(why(kTestKernel, std::nullopt), "");
  EXPECT_EQ(why("_ZN5aiter", ""), "this program has no such kernel: '_ZN5aiter'");
  EXPECT_EQ(why("lost.gemm@1:a=1", ""), "it is lost");
  EXPECT_EQ(why("lost.gemm@1:a=1", "wibble"),
            "its kernel reads weights in the layout 'plain', not in 'wibble', which is no known layout");
  EXPECT_EQ(row_kernel("_ZN5aiter", "", nullptr).candidate, std::nullopt);
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
  EXPECT_THAT(count_statuses(rows), ElementsAre(2, 2, 0, 1, 0, 0, 0, 0, 0, 0));
}

}  // namespace
}  // namespace attune
