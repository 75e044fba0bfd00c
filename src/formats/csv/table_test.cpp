// SPDX-License-Identifier: MIT
#include "formats/csv/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "formats/csv/table_diff.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class TableFile : public testing::Test {
 protected:
  Table read(std::string_view content, const std::string& name = "bf16_tuned_gemm.csv") {
    return Table::read(folder_.put(name, content).string());
  }
  TestFolder folder_;
  const Problem problem_ = Problem::parse("gemm_a16w16 m=1 n=2 k=3 dtype=bf16 outdtype=bf16 bias=0");
};

TEST_F(TableFile, ExcerptOfARealTable) {
  const auto table = Table::read(excerpt("bf16_tuned_gemm.csv").string());
  EXPECT_EQ(table.family().op, "gemm_a16w16");
  ASSERT_EQ(table.rows().size(), 4u);
  const TableRow& row = table.rows()[1];
  EXPECT_EQ(row.line, 3u);
  EXPECT_EQ(row.problem.key(),
            "gemm_a16w16 m=80 n=256 k=5120 bias=0 dtype=bf16 outdtype=fp32 scale_ab=0 bpreshuffle=0");
  EXPECT_EQ(row.gfx, "gfx950");
  EXPECT_EQ(row.num_units, 256);
  EXPECT_EQ(row.us, 7.9676);
  EXPECT_EQ(row.libtype, "asm");
  EXPECT_EQ(row.bw, 436.97);
  EXPECT_EQ(table.cell(row, "splitk"), "13");
  EXPECT_THAT(table.raw(row), HasSubstr("gfx950,256,80,256,5120,False"));
  EXPECT_THAT(table.notices(), ElementsAre(HasSubstr("4 rows without a device model: looked up by gfx and cu_num")));
}

TEST_F(TableFile, WrongRowsAreSkippedWhenThatIsWanted) {
  const std::string content = "gfx,cu_num,M,N,K,us,device\ng,1,one,2,3,5,x\ng,1,2,2,3,5,x\ng,many,3,2,3,5,x\n";
  const Table table =
      Table::of({CsvDocument::parse(content, "bf16_tuned_gemm.csv")}, find_family("gemm_a16w16"), WrongRows::skipped);
  ASSERT_EQ(table.rows().size(), 1u);
  EXPECT_EQ(table.rows()[0].line, 3u);
  ASSERT_EQ(table.skipped().size(), 1u);
  EXPECT_EQ(table.skipped()[0].count, 2u);
  EXPECT_THAT(table.skipped()[0].why_first, HasSubstr("bf16_tuned_gemm.csv:2: "));
  EXPECT_THROW(read(content), Error);
}

TEST_F(TableFile, AListOfShapesIsNoTunedTable) {
  EXPECT_NO_THROW(read("gfx,cu_num,M,N,K,us\n"));
  try {
    read("M,N,K\n1,2,3\n");
    FAIL() << "a list was taken for a table";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    EXPECT_THAT(error.what(), HasSubstr("bf16_tuned_gemm.csv:1: the file has no column 'us', so it is not a tuned"));
  }
}

TEST_F(TableFile, ResultsInYamlAreNamedAsSuch) {
  for (const char* name : {"results.yaml", "bf16_tuned_gemm.yml"}) {
    try {
      read("- {'M': 1, 'N': 2, 'K': 3}\n", name);
      FAIL() << "YAML was read as CSV";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      EXPECT_THAT(error.what(), testing::AllOf(HasSubstr("a CSV file is wanted, and this is YAML; "), HasSubstr(name)));
    }
  }
}

TEST_F(TableFile, UnreadableRowsAreListedWhenThatIsWanted) {
  const auto file = folder_.put("bf16_tuned_gemm.csv", "gfx,cu_num,M,N,K,us,device\ng,1,one,2,3,5,x\ng,1,2,2,3,5,x\n");
  const Table table = Table::read(file.string(), nullptr, WrongRows::listed);
  ASSERT_EQ(table.unreadable().size(), 1u);
  EXPECT_EQ(table.unreadable()[0].row, 0u);
  EXPECT_THAT(table.unreadable()[0].why, testing::StartsWith("column 'M' expects"));
}

TEST_F(TableFile, RowsThatNameNoModelAreSaidOnce) {
  const auto notices_of = [&](std::string_view content) { return read(content).notices(); };
  EXPECT_THAT(notices_of("gfx,cu_num,M,N,K,us,device\ng,1,1,2,3,5,cpu\ng,1,2,2,3,5,\ng,1,3,2,3,5,\n"),
              ElementsAre(testing::ContainsRegex("bf16_tuned_gemm.csv: 2 rows without a device model: looked up by gfx "
                                                 "and cu_num; the first is .*/bf16_tuned_gemm.csv:3$")));
  EXPECT_THAT(notices_of("gfx,cu_num,M,N,K,us\n"), IsEmpty());
  EXPECT_THAT(notices_of("gfx,cu_num,M,N,K,us,device\ng,1,1,2,3,5,cpu\n"), IsEmpty());
}

TEST_F(TableFile, RowsWithoutAUsableTimeBelongToTheirDevice) {
  const auto table = read(
      "gfx,cu_num,M,N,K,us,kernelName,device\ng,1,1,2,3,0,zero,cpu\ng,1,1,2,3,inf,endless,\ng,1,1,2,3,5,good,cpu\n"
      "g,2,1,2,3,0,other,cpu\n");
  std::vector<std::string> kernels;
  for (const TableRow* row : table.all(problem_, "g", 1)) kernels.push_back(row->kernel_name);
  EXPECT_THAT(kernels, ElementsAre("zero", "endless", "good"));
}

TEST_F(TableFile, OldFmoeTablesHaveNoGfxPercentSignsAndATag) {
  const auto table = Table::read(excerpt("tuned_fmoe.csv").string());
  EXPECT_EQ(table.family().op, "fmoe");
  EXPECT_EQ(table.rows()[0].gfx, "gfx942");
  EXPECT_EQ(table.rows()[0].num_units, 80);
  EXPECT_EQ(table.cell(table.rows()[0], "err1"), "0.0%");
  EXPECT_EQ(table.rows()[0].problem.text("q_dtype_w"), "torch.float8_e4m3fnuz");
  EXPECT_THAT(table.notices(), testing::Contains(HasSubstr("without gfx: looked up by cu_num")));
}

TEST_F(TableFile, UnusableTimesAreReadReportedAndNeverFound) {
  const auto table = read(
      "gfx,cu_num,M,N,K,us,kernelName,errRatio\n"
      "g,1,1,2,3,0,a,0.9%\ng,1,1,2,3,-1,b,0\ng,1,1,2,3,inf,c,0\ng,1,1,2,3,nan,d,0\ng,1,1,2,3,fast,e,0\ng,1,1,2,3,,f,"
      "0\n");
  ASSERT_EQ(table.rows().size(), 6u);
  for (const TableRow& row : table.rows()) EXPECT_FALSE(row.us) << row.kernel_name;
  EXPECT_DOUBLE_EQ(*table.rows()[0].err_ratio, 0.009);
  EXPECT_EQ(table.find(problem_, "g", 1), nullptr);
  EXPECT_THAT(
      table.notices(),
      testing::Contains(testing::ContainsRegex(
          "bf16_tuned_gemm.csv: 6 rows without a usable time: never used; the first is .*/bf16_tuned_gemm.csv:2$")));
}

TEST_F(TableFile, TheLowestTimeOfAKeyWinsWithAWarning) {
  const auto table =
      read("gfx,cu_num,M,N,K,us,kernelName\ng,1,1,2,3,5,slow\ng,1,1,2,3,0,zero\ng,1,1,2,3,4,fast\ng,2,1,2,3,1,other\n");
  EXPECT_EQ(table.find(problem_, "g", 1)->kernel_name, "fast");
  EXPECT_THAT(table.notices(),
              testing::Contains(testing::ContainsRegex(
                  "2 rows with the key of another row: the lowest time wins; the first is .*/bf16_tuned_gemm.csv:3$")));
}

TEST_F(TableFile, OfTimesThatTheRunTimeCannotTellApartTheFirstRowWins) {
  const auto table = read("gfx,cu_num,M,N,K,us,kernelName\ng,1,1,2,3,7.00000002,first\ng,1,1,2,3,7.00000001,second\n");
  EXPECT_EQ(table.find(problem_, "g", 1)->kernel_name, "first");
}

TEST_F(TableFile, RowsOfOtherModelsAndTaggedRowsAreNotFound) {
  const auto table = read(
      "gfx,cu_num,M,N,K,us,kernelName,device,_tag\nsm_90,132,1,2,3,5,h100,NVIDIA "
      "H100,\nsm_90,132,1,2,3,6,any,,\nsm_90,132,1,2,3,1,tagged,,fallback\n");
  EXPECT_EQ(table.find(problem_, "sm_90", 132, "NVIDIA H200")->kernel_name, "any");
  EXPECT_EQ(table.find(problem_, "sm_90", 132, "NVIDIA H100")->kernel_name, "h100");
  EXPECT_EQ(table.find(problem_, "sm_90", 132)->kernel_name, "h100");
}

TEST_F(TableFile, TheFirstFileThatHasTheKeyWins) {
  const std::string header = "gfx,cu_num,M,N,K,us,kernelName\n";
  const auto first = folder_.put("bf16_a.csv", header + "g,1,9,2,3,5,x\ng,1,1,2,3,0,zero\n");
  const auto second = folder_.put("bf16_b.csv", header + "g,1,1,2,3,5,b\ng,1,9,2,3,1,faster\n");
  const auto table = Table::read(first.string() + ":" + second.string());
  EXPECT_EQ(table.find(problem_, "g", 1)->kernel_name, "b");
  EXPECT_EQ(table.find(problem_.with("m", "9"), "g", 1)->kernel_name, "x");
}

TEST_F(TableFile, ANormalisedProblemFindsRowsThatSpellDefaultsAndThoseThatDoNot) {
  const auto table = read(
      "cu_num,M,N,K,bias,dtype,outdtype,us,trans_b\n304,1,2,3,FALSE,torch.bfloat16,torch.bfloat16,5,\n304,1,2,3,False,"
      "bf16,bf16,6,0\n");
  EXPECT_EQ(table.find(problem_, "gfx942", 304)->us, 5);
  EXPECT_EQ(table.find(problem_.with("trans_b", "0"), "gfx942", 304)->us, 6);
}

TEST_F(TableFile, AnUnknownDtypeOfARowIsKeptAndABrokenSizeIsAnError) {
  EXPECT_EQ(read("gfx,cu_num,M,N,K,dtype,us\ng,1,1,2,3,torch.float3,5\n").rows()[0].problem.text("dtype"),
            "torch.float3");
  try {
    read("gfx,cu_num,M,N,K,us\ng,1,1,2,3,5\ng,1,1,2,,5\n");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("bf16_tuned_gemm.csv:3: column 'K' expects a whole number"));
  }
}

TEST_F(TableFile, ANumberThatIsTooLargeIsRefusedWithTheRange) {
  try {
    read("gfx,cu_num,M,N,K,us\ng,1,99999999999999999999,2,3,5\n");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("column 'M' expects a whole number from 1 to 2147483647, got '9999999999"));
  }
}

TEST_F(TableFile, EveryShippedTunedFileIsRead) {
  size_t num_rows = 0, num_unusable = 0, num_files = 0;
  for (const auto& file : shipped_tables()) {
    const auto name = file.filename().string();
    if (name.find("untuned") != std::string::npos || name.find("chunk_gdn") != std::string::npos ||
        name == "tuned_fhmoe.csv")
      continue;
    const auto table = Table::read(file.string());
    ++num_files;
    num_rows += table.rows().size();
    for (const TableRow& row : table.rows()) num_unusable += !row.us;
  }
  if (num_files == 0) GTEST_SKIP() << "the folder of shipped tables is not there (ATTUNE_SHARED_DATA)";
  EXPECT_EQ(num_files, 47u);
  EXPECT_GT(num_rows, 30'000u);
  EXPECT_GT(num_unusable, 0u);
}

TEST_F(TableFile, ADiffNamesWhatCameWentAndChanged) {
  const auto before =
      read("gfx,cu_num,M,N,K,us,kernelName\ng,1,1,2,3,5.0,a\ng,1,2,2,3,0,z\ng,1,3,2,3,7,c\ng,1,5,2,3,1,same\n",
           "bf16_old.csv");
  const auto after = read(
      "gfx,cu_num,M,N,K,us,kernelName,device\ng,1,5,2,3,1,same,\ng,1,4,2,3,9,new,\ng,1,1,2,3,4,b,cpu\ng,1,2,2,3,8,z,\n",
      "bf16_new.csv");
  const auto result = diff(before, after);
  ASSERT_EQ(result.added.size(), 1u);
  EXPECT_EQ(result.added[0].problem.integer("m"), 4);
  EXPECT_EQ(result.added[0].new_line, 3u);
  EXPECT_EQ(result.added[0].new_us, 9);
  ASSERT_EQ(result.removed.size(), 1u);
  EXPECT_EQ(result.removed[0].old_line, 4u);
  EXPECT_EQ(result.num_same, 1u);
  ASSERT_EQ(result.changed.size(), 2u);
  EXPECT_DOUBLE_EQ(*result.changed[0].ratio, 1.25);
  ASSERT_EQ(result.changed[0].cells.size(), 3u);
  EXPECT_EQ(result.changed[0].cells[1].column, "kernelName");
  EXPECT_EQ(result.changed[0].cells[1].before, "a");
  EXPECT_EQ(result.changed[0].cells[1].after, "b");
  EXPECT_EQ(result.changed[0].cells[2].column, "device");
  EXPECT_FALSE(result.changed[1].old_us);
  EXPECT_FALSE(result.changed[1].ratio);
}

TEST_F(TableFile, ADiffOfATableWithItselfIsEmptyEvenWithRepeatedKeys) {
  const auto table = read("gfx,cu_num,M,N,K,us\ng,1,1,2,3,5\ng,1,1,2,3,6\n");
  const auto result = diff(table, table);
  EXPECT_EQ(result.num_same, 2u);
  EXPECT_TRUE(result.added.empty() && result.removed.empty() && result.changed.empty());
}

TEST_F(TableFile, TablesOfTwoFamiliesAreNotCompared) {
  EXPECT_THROW(diff(read("gfx,cu_num,M,N,K,us\n"), read("gfx,cu_num,M,N,K,us\n", "a8w8_tuned_gemm.csv")), Error);
}

}  // namespace
}  // namespace attune
