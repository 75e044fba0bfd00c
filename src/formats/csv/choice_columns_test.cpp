// SPDX-License-Identifier: MIT
// Columns of named values: the epilogue of gemm_a16w16.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/error.h"
#include "base/file.h"
#include "formats/csv/key_cells.h"
#include "formats/csv/publish.h"
#include "formats/csv/shape_list.h"
#include "formats/csv/table.h"
#include "formats/csv/table_columns.h"
#include "formats/csv/untuned_table.h"
#include "ops/gemm/gemm_epilogue.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::HasSubstr;

const FamilySpec& gemm_family() { return *find_family("gemm_a16w16"); }

const AttributeSpec& column_of(std::string_view name) {
  for (const AttributeSpec& key : gemm_family().key) {
    if (key.column == name) return key;
  }
  throw std::logic_error("no such column");
}

class ChoiceColumns : public testing::Test {
 protected:
  std::vector<std::string> shapes(const std::string& text) {
    std::vector<std::string> keys;
    for (const Shape& shape : read_shapes(folder_.put("bf16_untuned_gemm.csv", text)).shapes)
      keys.push_back(shape.problem.key());
    return keys;
  }
  std::string refusal(const std::string& text) {
    try {
      shapes(text);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }
  static PublishedRow row_of(const std::string& epilogue) {
    PublishedRow row;
    row.problem = Problem::parse("gemm_a16w16 m=1 n=2 k=3 dtype=bf16 outdtype=bf16 bias=1" + epilogue);
    row.gfx = "x86-64-v4";
    row.num_units = 2;
    row.model = "M";
    row.layout = "plain";
    row.kernel_name = "a.gemm@1:x=1";
    row.libtype = "a";
    row.us = 2.5;
    return row;
  }
  TestFolder folder_;
};

TEST_F(ChoiceColumns, AreReadByNameWithoutRegardToCase) {
  EXPECT_EQ(attribute_value(" GELU_Tanh ", column_of("act")), "gelu_tanh");
  EXPECT_EQ(attribute_value("ANY", column_of("alpha")), "any");
  EXPECT_EQ(attribute_value("1.0", column_of("alpha")), "1") << "as tools with missing values write it";
  for (const char* wrong : {"gel", "2", "swish", "no ne"})
    EXPECT_EQ(attribute_value(wrong, column_of("act")), std::nullopt) << wrong;
  EXPECT_EQ(attribute_value("0.5", column_of("beta")), std::nullopt);
  EXPECT_EQ(attribute_value("none", ColumnKind::choice), std::nullopt) << "only the column knows its names";
  for (size_t i = 0; i < column_of("act").allowed.size(); ++i)
    EXPECT_EQ(choice_number(column_of("act").allowed, column_of("act").allowed[i]), i);
}

TEST_F(ChoiceColumns, OfAListOfShapesAreAttributesOffTheirDefault) {
  EXPECT_THAT(shapes("M,N,K,act,beta,out_scale\n1,2,3,Silu,any,True\n4,5,6,,,\n7,8,9,none,0,False\n"),
              testing::ElementsAre(
                  "gemm_a16w16 m=1 n=2 k=3 bias=0 dtype=bf16 outdtype=bf16 scale_ab=0 bpreshuffle=0 act=silu beta=any "
                  "out_scale=1",
                  "gemm_a16w16 m=4 n=5 k=6 bias=0 dtype=bf16 outdtype=bf16 scale_ab=0 bpreshuffle=0",
                  "gemm_a16w16 m=7 n=8 k=9 bias=0 dtype=bf16 outdtype=bf16 scale_ab=0 bpreshuffle=0"));
  EXPECT_THAT(refusal("M,N,K,act\n1,2,3,mish\n"),
              HasSubstr(":2: column 'act' expects one of none, relu, gelu, gelu_tanh, silu, got 'mish'"));
  EXPECT_THAT(refusal("M,N,K,alpha\n1,2,3,0.5\n"), HasSubstr("column 'alpha' expects one of 0, 1, any, got '0.5'"));
}

TEST_F(ChoiceColumns, AreWrittenOnlyWhereAShapeNeedsThem) {
  const Problem plain = row_of("").problem, curved = row_of(" act=gelu alpha=any").problem;
  EXPECT_EQ(untuned_text(gemm_family(), {&plain, 1}),
            "M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle\n1,2,3,True,torch.bfloat16,torch.bfloat16,False,False\n");
  const std::vector<Problem> both = {plain, curved};
  EXPECT_EQ(untuned_text(gemm_family(), both),
            "M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,act,alpha\n"
            "1,2,3,True,torch.bfloat16,torch.bfloat16,False,False,none,1\n"
            "1,2,3,True,torch.bfloat16,torch.bfloat16,False,False,gelu,any\n");
}

TEST_F(ChoiceColumns, OfATableAreAppendedByTheFirstRowThatNeedsThemAndRowsOfOneProductStandSideBySide) {
  const auto path = folder_.path() / "bf16_tuned_gemm.csv";
  publish(path, gemm_family(), std::vector{row_of("")});
  const std::string before = read_file(path);
  EXPECT_EQ(before.substr(0, before.find('\n')),
            "gfx,cu_num,M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle,libtype,solidx,splitK,us,kernelName,err_ratio,"
            "tflops,bw,device,layout")
      << "a table without epilogues has the columns it always had";
  publish(path, gemm_family(), std::vector{row_of(" act=gelu"), row_of(" act=silu"), row_of(" act=gelu beta=any")});
  const std::string after = read_file(path);
  EXPECT_THAT(after, HasSubstr(",device,layout,act,beta\n"));
  EXPECT_THAT(after, HasSubstr(before.substr(before.find('\n') + 1))) << "old rows keep their bytes";
  const Table table = Table::read(path.string());
  ASSERT_EQ(table.rows().size(), 4u);
  for (const char* epilogue : {"", " act=gelu", " act=silu", " act=gelu beta=any"}) {
    const TableRow* found = table.find(row_of(epilogue).problem, "x86-64-v4", 2, "M");
    ASSERT_NE(found, nullptr) << epilogue;
    EXPECT_EQ(GemmEpilogue::of(found->problem), GemmEpilogue::of(row_of(epilogue).problem));
  }
  EXPECT_EQ(table.find(row_of(" act=relu").problem, "x86-64-v4", 2, "M"), nullptr) << "never another epilogue's";
  const auto again = publish(path, gemm_family(), std::vector{row_of(" act=gelu")});
  EXPECT_EQ(again.num_replaced, 1u);
  EXPECT_EQ(Table::read(path.string()).rows().size(), 4u);
}

/// A row of a later version is kept and never found, as one with an unknown dtype.
TEST_F(ChoiceColumns, OfATableKeepNamesThatThisVersionDoesNotKnow) {
  const auto path = folder_.put("bf16_tuned_gemm.csv",
                                "gfx,cu_num,M,N,K,act,us,kernelName\ng,2,1,2,3,mish,1.0,a\ng,2,1,2,3,RELU,2.0,b\n");
  const Table table = Table::read(path.string());
  ASSERT_EQ(table.rows().size(), 2u);
  EXPECT_EQ(table.rows()[0].problem.text("act"), "mish");
  EXPECT_EQ(table.rows()[1].problem.text("act"), "relu");
  EXPECT_EQ(table.find(Problem::parse("gemm_a16w16 m=1 n=2 k=3"), "g", 2), nullptr);
}

/// Tables, lists and keys of versions without epilogues are read and written as they were, byte for byte.
TEST_F(ChoiceColumns, LeaveOlderFilesAsTheyAre) {
  const std::string old =
      "cu_num,M,N,K,bias,dtype,outdtype,scaleAB,libtype,solidx,splitK,us,kernelName,err_ratio,tflops,bw\n"
      "256,16,384,7168,False,torch.bfloat16,torch.float32,False,asm,3,4,6.2,name,0.0,14.2,920.1\n";
  const auto path = folder_.put("bf16_tuned_gemm.csv", old);
  EXPECT_EQ(Table::read(path.string()).rows()[0].problem.key(),
            "gemm_a16w16 m=16 n=384 k=7168 bias=0 dtype=bf16 outdtype=fp32 scale_ab=0 bpreshuffle=0");
  publish(path, gemm_family(), std::vector{row_of("")});
  const std::string after = read_file(path);
  EXPECT_THAT(after, testing::StartsWith(old.substr(0, old.find('\n'))));
  EXPECT_THAT(after, HasSubstr(std::string(",gfx,device,layout\n") + old.substr(old.find('\n') + 1)));
  EXPECT_THAT(after, testing::Not(HasSubstr("act")));
}

}  // namespace
}  // namespace attune
