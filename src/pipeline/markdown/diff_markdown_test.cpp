// SPDX-License-Identifier: MIT
#include "pipeline/markdown/diff_markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/csv/csv_document.h"
#include "formats/csv/table.h"
#include "ops/family.h"

namespace attune {
namespace {

using testing::HasSubstr;

Table table(std::string_view text) {
  return Table::of({CsvDocument::parse(text, "t.csv")}, find_family("gemm_a16w16"), WrongRows::listed);
}

constexpr const char* kBefore =
    "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,us,kernelName\n"
    "fake,4,1,2,3,False,torch.float32,torch.float32,False,False,5,fake.gemm@1:split_k=1;tile_m=16;tile_n=16\n"
    "fake,4,4,2,3,False,torch.float32,torch.float32,False,False,7,a|b\n";
// The same columns in another order, a row that stays, and one with another kernel.
constexpr const char* kAfter =
    "kernelName,us,M,N,K,gfx,cu_num,bias,dtype,outdtype,scaleAB,bpreshuffle\n"
    "a|b,7,4,2,3,fake,4,False,torch.float32,torch.float32,False,False\n"
    "fake.gemm@1:split_k=1;tile_m=128;tile_n=16,2.5,1,2,3,fake,4,False,torch.float32,torch.float32,False,False\n"
    "<script>,0,5,2,3,fake,4,False,torch.float32,torch.float32,False,False\n";

TEST(DiffMarkdown, SaysEachChangedRowAsNumbersAndWordByWordWhateverTheOrderOfTheColumns) {
  const std::string text = diff_markdown(diff(table(kBefore), table(kAfter)));
  EXPECT_THAT(text, HasSubstr("1 added, 1 changed, 0 removed, 1 the same.\n"));
  EXPECT_THAT(text, HasSubstr("| ~ | 1×2×3 fp32 | fake/4 | 5.0000 | 2.5000 | 2.000× | kernelName: "
                              "fake.gemm@1:split_k=1;tile_m=~~16~~ **128**;tile_n=16<br>us: ~~5~~ **2.5** |\n"));
  EXPECT_THAT(text, HasSubstr("| + | 5×2×3 fp32 | fake/4 |  |  |  |  |\n"));
  EXPECT_THAT(diff_markdown(diff(table(kAfter), table(kBefore))), HasSubstr("| - | 5×2×3 fp32 | fake/4 |"));
}

TEST(DiffMarkdown, WithoutADifferenceThereIsNoTable) {
  EXPECT_EQ(diff_markdown(diff(table(kBefore), table(kBefore))), "0 added, 0 changed, 0 removed, 2 the same.\n");
}

TEST(DiffMarkdown, TextsOfTablesAreEscaped) {
  EXPECT_EQ(changed_words("a=<b>", "a=x|y"), "a=~~&lt;b>~~ **x\\|y**");
  EXPECT_EQ(changed_words("", "a;b"), "**a;b**");
  EXPECT_EQ(changed_words("a b", "a"), "~~a b~~ **a**");
  EXPECT_EQ(changed_words("~~a", "~~a"), "\\~\\~a");
}

}  // namespace
}  // namespace attune
