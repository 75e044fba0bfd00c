// SPDX-License-Identifier: MIT
#include "formats/csv/csv_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

CsvDocument parse(std::string_view content) { return CsvDocument::parse(content, "t.csv"); }

std::string rebuilt(const CsvDocument& document) {
  std::string content(document.head());
  for (size_t row = 0; row < document.num_rows(); ++row) content += document.raw(row);
  return content;
}

std::string message_of(std::string content) {
  try {
    parse(std::move(content));
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
  return "nothing was thrown";
}

TEST(CsvDocument, GivesCellsAndKeepsBytes) {
  const std::string content = "M,N ,K\n 1,\t2,3\t \n\n4,5\n";
  const auto document = parse(content);
  EXPECT_THAT(document.columns(), ElementsAre("M", "N", "K"));
  ASSERT_EQ(document.num_rows(), 2u);
  EXPECT_EQ(document.cell(0, 1), "2");
  EXPECT_EQ(document.cell(0, 2), "3");
  EXPECT_EQ(document.cell(1, 2), "");
  EXPECT_EQ(document.num_cells(1), 2u);
  EXPECT_EQ(document.line(1), 4u);
  EXPECT_EQ(document.where(1), "t.csv:4");
  EXPECT_EQ(document.raw(0), " 1,\t2,3\t \n\n");
  EXPECT_EQ(rebuilt(document), content);
}

TEST(CsvDocument, AcceptsAByteOrderMarkAndCrlfAndKeepsThem) {
  const std::string content = "\xef\xbb\xbfM,N\r\n1,2\r\n";
  const auto document = parse(content);
  EXPECT_EQ(document.columns()[0], "M");
  EXPECT_EQ(document.cell(0, 1), "2");
  EXPECT_EQ(document.line_end(), "\r\n");
  EXPECT_EQ(document.header_text(), "\xef\xbb\xbfM,N");
  EXPECT_EQ(rebuilt(document), content);
}

TEST(CsvDocument, QuotedCellsHoldCommasMarksAndLineEnds) {
  const std::string content = "a,b\n\"x,\"\"y\"\"\",\"two\nlines\"\nlast,\" kept? \"";
  const auto document = parse(content);
  ASSERT_EQ(document.num_rows(), 2u);
  EXPECT_EQ(document.cell(0, 0), "x,\"y\"");
  EXPECT_EQ(document.cell(0, 1), "two\nlines");
  EXPECT_EQ(document.line(1), 4u);
  EXPECT_EQ(document.cell(1, 0), "last");
  EXPECT_EQ(rebuilt(document), content);
}

TEST(CsvDocument, AHeaderOnlyFileHasNoRows) {
  EXPECT_EQ(parse("M,N,K").num_rows(), 0u);
  EXPECT_EQ(parse("M,N,K\r\n").head(), "M,N,K\r\n");
  EXPECT_THAT(message_of(""), HasSubstr("t.csv: the file is empty"));
  EXPECT_THAT(message_of("\n \n"), HasSubstr("t.csv: the file is empty"));
}

TEST(CsvDocument, FindsColumnsWithoutRegardToCaseButExactOnesFirst) {
  const auto document = parse("k,K,M\n");
  EXPECT_EQ(document.find_column("K"), 1u);
  EXPECT_EQ(document.find_column("k"), 0u);
  EXPECT_EQ(document.find_column("m"), 2u);
  EXPECT_FALSE(document.find_column("N"));
}

TEST(CsvDocument, AMissingColumnIsNamedWithThoseThatAreThere) {
  try {
    parse("M,K\n").require_column("N");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "t.csv:1: the column 'N' is missing, the file has: M, K");
  }
}

TEST(CsvDocument, BinaryContentIsRejectedWithItsLine) {
  EXPECT_THAT(message_of(std::string("M\n1\n\0\n", 7)), HasSubstr("t.csv:3: the line contains a NUL byte"));
  EXPECT_THAT(message_of("M\n\x7f"
                         "ELF\n"),
              HasSubstr("t.csv:2: the line contains a control character"));
  EXPECT_THAT(message_of("M\n\xc3(\n"), HasSubstr("t.csv:2: the line contains bytes that are not UTF-8"));
  EXPECT_THAT(message_of("M\n\xed\xa0\x80\n"), HasSubstr("not UTF-8"));
  EXPECT_EQ(parse("M\ngröße €😀\n").num_rows(), 1u);
}

TEST(CsvDocument, StrayQuotesAndCarriageReturnsAreRejectedWithTheirLine) {
  EXPECT_THAT(message_of("M\na\"b\n"), HasSubstr("t.csv:2: an unquoted cell contains a quotation mark"));
  EXPECT_THAT(message_of("M\n1\n\"open\n2\n"), HasSubstr("t.csv:3: a quotation mark is opened and never closed"));
  EXPECT_THAT(message_of("M\n1\r2\r3\n"), HasSubstr("t.csv:2: the line contains a carriage return"));
  EXPECT_THAT(message_of("M\n1\r2"), HasSubstr("t.csv:2: the line contains a carriage return"))
      << "the last line has no end";
  EXPECT_THAT(message_of("M\r1"), HasSubstr("t.csv:1: the line contains a carriage return"));
  EXPECT_EQ(parse("M\r\n1\r").num_rows(), 1u);
  EXPECT_THAT(message_of("M,N,M\n"), HasSubstr("t.csv:1: the column 'M' is named twice"));
}

TEST(CsvDocument, LinesAndColumnsAreBounded) {
  const std::string longest = "M\n" + std::string(kMaxCsvLineBytes - 1, 'x') + "\n";
  EXPECT_EQ(parse(longest).num_rows(), 1u);
  EXPECT_THAT(message_of("M\n" + std::string(kMaxCsvLineBytes, 'x') + "\n"),
              HasSubstr("t.csv:2: a row has at most 65536 bytes"));
  EXPECT_THAT(message_of("M\n\"" + std::string(kMaxCsvLineBytes, '\n')),
              HasSubstr("t.csv:2: a row has at most 65536 bytes"));
  EXPECT_EQ(parse("M\n" + std::string(kMaxCsvColumns - 1, ',') + "\n").num_cells(0), kMaxCsvColumns);
  EXPECT_THAT(message_of("M\n" + std::string(kMaxCsvColumns, ',') + "\n"),
              HasSubstr("t.csv:2: a row has at most 4096 columns"));
}

TEST(CsvDocument, AnEndlessLineIsRejectedFromItsFirstBytes) {
  const TestFolder folder;
  const auto path = folder.path() / "huge.csv";
  std::ofstream(path) << "M\n" << std::string(3 * kMaxCsvLineBytes, '1');
  std::filesystem::resize_file(path, 1ull << 40);  // a sparse file: reading it all would take minutes
  try {
    CsvDocument::read(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("huge.csv:2: a row has at most"));
  }
}

TEST(CsvDocument, AFileOverTheLimitIsRejectedBeforeItIsRead) {
  const TestFolder folder;
  const auto path = folder.path() / "huge.csv";
  std::ofstream file(path);
  for (size_t i = 0; i < 3 * kMaxCsvLineBytes / 2; ++i) file << "1\n";
  file.close();
  std::filesystem::resize_file(path, 1ull << 40);
  try {
    CsvDocument::read(path);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("at most 256 MiB"));
  }
}

TEST(CsvDocument, WritesCellsThatReadBack) {
  for (const std::string text : {"plain", "", "a b", " a", "a,b", "a\"b", "\"", "two\nlines"}) {
    const auto document = parse("a,b\nx," + csv_cell(text) + "\n");
    EXPECT_EQ(document.num_rows(), 1u);
    EXPECT_EQ(document.cell(0, 1), text == " a" ? "a" : text);
  }
  EXPECT_EQ(csv_cell("Intel Xeon @ 2.0"), "Intel Xeon @ 2.0");
}

TEST(CsvDocument, EveryShippedTableIsRebuiltByteForByte) {
  const auto files = shipped_tables();
  if (files.empty()) GTEST_SKIP() << "the folder of shipped tables is not there (ATTUNE_SHARED_DATA)";
  for (const auto& file : files) EXPECT_EQ(rebuilt(CsvDocument::read(file)), read_file(file)) << file;
}

}  // namespace
}  // namespace attune
