// SPDX-License-Identifier: MIT
#include "formats/csv/table_columns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/text.h"
#include "formats/csv/table.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

PublishedRow published_example() {
  PublishedRow row;
  row.problem = Problem::parse("gemm_a16w16 m=1 n=2 k=3 dtype=bf16 outdtype=bf16 bias=0");
  row.gfx = "sm_90";
  row.num_units = 132;
  row.model = "H200";
  row.layout = "host.k16.v1";
  row.require = Requirement::deterministic;
  row.kernel_name = "a.gemm@1:x=1";
  row.libtype = "a";
  row.us = 2.5;
  row.err_ratio = 0.0029;
  row.tflops = 1.25;
  row.bw = 10;
  return row;
}

/// A table of one row with all columns, in the names of some families or of the others.
Table table_with_all_columns(const PublishedRow& row, bool other_names) {
  std::string header = "M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle", cells = "1,2,3,0,bf16,bf16,0,0";
  for (const TableColumn& column : table_columns()) {
    header += "," + std::string(other_names && !column.other_name.empty() ? column.other_name : column.name);
    cells += "," + csv_cell(column.write != nullptr ? column.write(row) : "alternative");
  }
  std::vector<CsvDocument> documents;
  documents.push_back(CsvDocument::parse(header + "\n" + cells + "\n", "t.csv"));
  return Table::of(std::move(documents), find_family("gemm_a16w16"));
}

/// The rows of a table, written as a new one and read again.
Table written_again(const Table& table) {
  const FamilySpec& family = table.family();
  const auto header = new_table_header(family);
  std::string text = join(header, ",") + "\n";
  for (const TableRow& row : table.rows()) {
    PublishedRow made;
    made.problem = row.problem;
    made.gfx = row.gfx;
    made.num_units = row.num_units;
    made.us = row.us.value_or(0);
    made.parts = row.parts;
    for (const std::string& column : header)
      text += (&column == &header.front() ? "" : ",") + csv_cell(table_cell(family, made, column).value_or(""));
    text += "\n";
  }
  return Table::of({CsvDocument::parse(text, "t.csv")}, &family);
}

TEST(TableColumns, ARowOfSeveralKernelsKeepsTheirTimesAndNames) {
  const Table table = Table::read(std::string(ATTUNE_SOURCE_DIR) + "/tests/data/tuned_fmoe.csv");
  ASSERT_FALSE(table.rows().empty());
  const RowPart& first = table.rows().front().parts.at(0);
  EXPECT_EQ(first.us, usable_time(table.cell(table.rows().front(), "us1")));
  EXPECT_EQ(first.kernel_name, table.cell(table.rows().front(), "kernelName1"));
  EXPECT_EQ(first.err_ratio, 0.0);
  const Table again = written_again(table);
  ASSERT_EQ(again.rows().size(), table.rows().size());
  for (size_t i = 0; i < table.rows().size(); ++i) {
    EXPECT_EQ(again.rows()[i].parts.size(), 2u);
    EXPECT_EQ(again.rows()[i].parts, table.rows()[i].parts) << i;
    EXPECT_EQ(again.rows()[i].us, table.rows()[i].us) << i;
  }
}

TEST(TableColumns, AreReadAsTheyAreWritten) {
  const PublishedRow row = published_example();
  for (const bool other_names : {false, true}) {
    const Table table = table_with_all_columns(row, other_names);
    ASSERT_EQ(table.rows().size(), 1u);
    const TableRow& read = table.rows().front();
    EXPECT_EQ(read.gfx, row.gfx);
    EXPECT_EQ(read.num_units, row.num_units);
    EXPECT_EQ(read.device, row.model);
    EXPECT_EQ(read.layout, row.layout);
    EXPECT_EQ(read.require, row.require);
    EXPECT_EQ(read.kernel_name, row.kernel_name);
    EXPECT_EQ(read.libtype, row.libtype);
    EXPECT_EQ(read.us, row.us);
    EXPECT_EQ(read.err_ratio, row.err_ratio) << other_names;
    EXPECT_EQ(read.tflops, row.tflops);
    EXPECT_EQ(read.bw, row.bw);
    EXPECT_EQ(read.tag, "alternative");
  }
}

TEST(TableColumns, HaveOtherNamesInSomeFamilies) {
  const FamilySpec& family = *find_family("gemm_a16w16");
  EXPECT_EQ(table_cell(family, published_example(), "ERR_RATIO"), "0.0029");
  EXPECT_EQ(table_cell(family, published_example(), "kernelId"), "-1");
  EXPECT_EQ(table_cell(family, published_example(), "n"), "2") << "of the key";
  EXPECT_EQ(table_cell(family, published_example(), "_tag"), std::nullopt) << "never written";
  EXPECT_EQ(table_cell(family, published_example(), "another tool's"), std::nullopt);
}

TEST(TableColumns, OfTheDeviceTheRequirementAndTheTagAreOfAllFamilies) {
  for (const char* name : {"gfx", "cu_num", "device", "layout", "require", "_tag", "Require"})
    EXPECT_TRUE(is_column_of_all_families(name)) << name;
  for (const char* name : {"us", "kernelName", "M", "colour"}) EXPECT_FALSE(is_column_of_all_families(name)) << name;
}

TEST(TableColumns, ATimeOutsideTheRangeIsRefusedWithTheRange) {
  EXPECT_EQ(usable_time("1e18"), 1e18);
  EXPECT_EQ(usable_time("1e308"), std::nullopt);
  EXPECT_EQ(time_error("1e308"), "column 'us' expects a time in µs from 1e-09 to 1e+18, got '1e308'");
}

TEST(TableColumns, OfANewTableAreTheDeviceTheKeyAndTheResults) {
  EXPECT_THAT(new_table_header(*find_family("gemm_a16w16")),
              ElementsAre("gfx", "cu_num", "M", "N", "K", "bias", "dtype", "outdtype", "scaleAB", "bpreshuffle",
                          "libtype", "solidx", "splitK", "us", "kernelName", "err_ratio", "tflops", "bw"));
}

TEST(TableColumns, AreDescribedForUsers) {
  const std::string text = read_file(std::filesystem::path(ATTUNE_SOURCE_DIR) / "docs/formats/tables.md");
  for (const TableColumn& column : table_columns()) {
    EXPECT_THAT(text, HasSubstr("`" + std::string(column.name) + "`"));
    EXPECT_THAT(text, HasSubstr("`" + std::string(column.other_name.empty() ? column.name : column.other_name) + "`"));
  }
}

}  // namespace
}  // namespace attune
