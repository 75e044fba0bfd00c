// SPDX-License-Identifier: MIT
#include "formats/csv/csv_scan.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "testing/test_files.h"

namespace attune {
namespace {

void expect_as_document(const CsvDocument& document, CsvScan& scan) {
  EXPECT_EQ(scan.head().columns(), document.columns());
  for (size_t row = 0; row < document.num_rows(); ++row) {
    ASSERT_TRUE(scan.next()) << document.where(row);
    EXPECT_EQ(scan.line(), document.line(row));
    ASSERT_EQ(scan.num_cells(), document.num_cells(row)) << document.where(row);
    for (size_t i = 0; i <= scan.num_cells(); ++i) EXPECT_EQ(scan.cell(i), document.cell(row, i));
  }
  EXPECT_FALSE(scan.next());
  EXPECT_FALSE(scan.next());
}

TEST(CsvScan, ReadsWhatADocumentReads) {
  for (const std::string text : {"M,N\n1,2\n", "M,N\n1,2", "M,N", "M,N\n\n \t\n1,2\n\n3,4,,\n", " M ,\tN \n 1\t, 2 ,\n",
                                 "M,N\n\"1\",\"2,3\"\n", "M,N\r\n1,2\r\n", "\xef\xbb\xbfM,N\n1,2\n", "\n\nM,N\n1,2\n",
                                 "M,N\n\"1\n2\",3\n4,5\n", "M\nü\n", "M,N\n,\n", "M,N\n1\n"}) {
    CsvScan scan(text, "t.csv");
    expect_as_document(CsvDocument::parse(text, "t.csv"), scan);
  }
}

TEST(CsvScan, RefusesWhatADocumentRefuses) {
  for (const std::string& text :
       {std::string(), std::string("M,N\n1,\x01\n"), std::string("M,N\n1,\xff\n"), std::string("M,M\n"),
        "M\n" + std::string(kMaxCsvLineBytes + 1, '1') + "\n", "M\n" + std::string(kMaxCsvColumns + 1, ',') + "\n",
        std::string("M\n\"1\n"), std::string("M,N\n1,\0002\n", 9)}) {
    std::string wanted;
    try {
      CsvDocument::parse(text, "t.csv");
    } catch (const Error& error) {
      wanted = error.what();
    }
    ASSERT_NE(wanted, "");
    try {
      CsvScan(text, "t.csv");
      FAIL() << wanted;
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), wanted);
    }
  }
}

TEST(CsvScan, ReadsTheRealTablesAsDocumentsDo) {
  const auto files = shipped_tables();
  if (files.empty()) GTEST_SKIP() << "the folder of real tables is not available";
  for (const auto& file : files) {
    CsvScan scan(file);
    expect_as_document(CsvDocument::read(file), scan);
  }
}

}  // namespace
}  // namespace attune
