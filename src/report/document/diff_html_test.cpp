// SPDX-License-Identifier: MIT
#include "report/document/diff_html.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/csv/csv_document.h"
#include "formats/csv/table.h"
#include "ops/family.h"
#include "report/diff/changed_words.h"
#include "report/document/report_output.h"

namespace attune {
namespace {

using testing::HasSubstr;
using testing::Not;

Table table(const std::string& rows) {
  const std::string head = "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,us,kernelName\n";
  return Table::of({CsvDocument::parse(head + rows, "t.csv")}, find_family("gemm_a16w16"), WrongRows::listed);
}
std::string row(int m, const char* us, const char* kernel) {
  return fmt::format("fake,4,{},2,3,False,torch.float32,torch.float32,False,False,{},{}\n", m, us, kernel);
}

TEST(DiffHtml, SaysEachChangedRowAsNumbersAndWordByWord) {
  const std::string page = diff_html(diff(table(row(1, "5", "a@1:x=1;y=2") + row(4, "7", "b")),
                                          table(row(1, "2.5", "a@1:x=128;y=2") + row(5, "0", "<script>&"))),
                                     "old.csv", "new <b>.csv");
  EXPECT_THAT(page, HasSubstr("1 added, 1 changed, 1 removed, 0 the same"));
  EXPECT_THAT(page, HasSubstr("<td class=\"n\">5.0000</td><td class=\"n\">2.5000</td><td class=\"n\">2.000×</td>"));
  EXPECT_THAT(page, HasSubstr("kernelName: a@1:x=<del>1</del><ins>128</ins>;y=2"));
  EXPECT_THAT(page, HasSubstr("<td>removed</td>"));
  EXPECT_THAT(page, HasSubstr("<td>added</td>"));
  EXPECT_THAT(page, HasSubstr("new &lt;b&gt;.csv"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
  EXPECT_TRUE(begins_as_report(page)) << "it may be written over";
}

TEST(DiffHtml, WithoutADifferenceThereIsNoTable) {
  const Table same = table(row(1, "5", "a"));
  const std::string page = diff_html(diff(same, same), "a", "b");
  EXPECT_THAT(page, HasSubstr("The tables have the same rows."));
  EXPECT_THAT(page, Not(HasSubstr("<table")));
}

TEST(CompareWords, PartsGiveBothTexts) {
  for (const auto& [before, after] : {std::pair{"a=1;b", "a=2;b"}, {"", "x"}, {"a b", "a"}, {"", ""}}) {
    std::string old_text, new_text;
    for (const ChangedWord& one : compare_words(before, after)) {
      old_text += one.before;
      new_text += one.after;
    }
    EXPECT_EQ(old_text, before);
    EXPECT_EQ(new_text, after);
  }
  EXPECT_EQ(compare_words("a b", "a").size(), 1u);
  EXPECT_EQ(compare_words("a=1", "a=2").size(), 3u);
}

}  // namespace
}  // namespace attune
