// SPDX-License-Identifier: MIT
#include "formats/csv/shape_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

ShapeOptions with(std::vector<AttributeSetting> settings) {
  return {.op = "", .settings = std::move(settings), .max_rows = {}};
}

class Shapes : public testing::Test {
 protected:
  ShapeList read(std::string_view content, const ShapeOptions& options = {},
                 const std::string& name = "bf16_untuned_gemm.csv") {
    return read_shapes(folder_.put(name, content), options);
  }
  std::vector<std::string> keys(std::string_view content, const ShapeOptions& options = {},
                                const std::string& name = "bf16_untuned_gemm.csv") {
    std::vector<std::string> result;
    for (const Shape& shape : read(content, options, name).shapes) result.push_back(shape.problem.key());
    return result;
  }
  /// The message after the folder's name.
  std::string message(std::string_view content, const ShapeOptions& options = {},
                      const std::string& name = "bf16_untuned_gemm.csv") {
    try {
      read(content, options, name);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input);
      const std::string text = error.what();
      const std::string folder = folder_.path().string() + "/";
      return text.starts_with(folder) ? text.substr(folder.size()) : text;
    }
    return "nothing was thrown";
  }
  TestFolder folder_;
};

TEST_F(Shapes, EveryKeyColumnBecomesAnAttribute) {
  EXPECT_THAT(
      keys("M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle\n 1 ,\t2,3,TRUE,torch.float16,torch.float32,False,FALSE \n"),
      ElementsAre("gemm_a16w16 m=1 n=2 k=3 bias=1 dtype=fp16 outdtype=fp32 scale_ab=0 bpreshuffle=0"));
}

TEST_F(Shapes, ColumnsOfAnyCaseAndMissingOnesAreAccepted) {
  EXPECT_THAT(keys("k,m,n\n3,1,2\n"),
              ElementsAre("gemm_a16w16 m=1 n=2 k=3 bias=0 dtype=bf16 outdtype=bf16 scale_ab=0 bpreshuffle=0"));
}

TEST_F(Shapes, TheDefaultDtypeIsSaid) {
  EXPECT_THAT(read("M,N,K\n1,2,3\n").notices, ElementsAre(HasSubstr("no column 'dtype', using bf16")));
  EXPECT_THAT(read("M,N,K,dtype\n1,2,3,fp32\n").notices, IsEmpty());
}

TEST_F(Shapes, TheResultHasTheTypeOfTheInputsUnlessSaidOtherwise) {
  EXPECT_THAT(keys("M,N,K,dtype\n1,2,3,fp32\n")[0], HasSubstr("dtype=fp32 outdtype=fp32"));
  EXPECT_THAT(keys("M,N,K\n1,2,3\n", with({{"dtype", "fp16", "--dtype"}}))[0], HasSubstr("dtype=fp16 outdtype=fp16"));
  EXPECT_THAT(keys("M,N,K\n1,2,3\n", with({{"dtype", "fp16", "--dtype"}, {"outdtype", "fp32", "--outdtype"}}))[0],
              HasSubstr("dtype=fp16 outdtype=fp32"));
  EXPECT_THAT(keys("M,N,K,outdtype\n1,2,3,bf16\n", with({{"dtype", "fp16", "--dtype"}}))[0],
              HasSubstr("dtype=fp16 outdtype=bf16"));
}

TEST_F(Shapes, OptionsWinOverTheFile) {
  const ShapeOptions options =
      with({{"bias", "1", "--bias"}, {"trans_a", "0", "--trans_a"}, {"trans_b", "0", "--trans_b"}});
  EXPECT_THAT(
      keys("M,N,K,bias\n1,2,3,False\n", options),
      ElementsAre("gemm_a16w16 m=1 n=2 k=3 bias=1 dtype=bf16 outdtype=bf16 scale_ab=0 bpreshuffle=0 trans_b=0"));
}

TEST_F(Shapes, AnOptionThatMakesNoSenseForTheFamilyIsRefused) {
  EXPECT_EQ(message("M,N,K\n1,2,3\n", with({{"act", "relu", "--act"}}), "a8w8_untuned_gemm.csv"),
            "--act has no meaning for the family gemm_a8w8, omit it, or name an op that has it with --op: gemm_a16w16");
  EXPECT_EQ(message("M,N,K\n1,2,3\n", with({{"token", "1", "--token"}})),
            "--token has no meaning for the family gemm_a16w16, omit it");
  EXPECT_THAT(keys("M,N,K\n1,2,3\n", with({{"dtype", "e4m3fn", "--dtype"}}), "a8w8_untuned_gemm.csv"),
              ElementsAre("gemm_a8w8 m=1 n=2 k=3 q_dtype_w=e4m3fn"));
}

TEST_F(Shapes, LongColumnNamesAreShortenedInNotices) {
  const auto list = read("M,N,K," + std::string(60000, 'x') + "\n1,2,3\n");
  ASSERT_FALSE(list.notices.empty());
  for (const auto& notice : list.notices) EXPECT_LT(notice.size(), 700u);
}

TEST_F(Shapes, RepeatedShapesAreTunedOnceAndCounted) {
  const auto list = read("M,N,K,dtype\n1,2,3,bf16\n1,2,4,bf16\n\n1, 2,3,torch.bfloat16\n1,2,3,bf16\n");
  ASSERT_EQ(list.shapes.size(), 2u);
  EXPECT_EQ(list.shapes[1].line, 3u);
  EXPECT_THAT(list.notices,
              ElementsAre(testing::AllOf(HasSubstr("2 repetitions skipped, each shape is tuned once; the first is "),
                                         HasSubstr(".csv:5"))));
}

TEST_F(Shapes, SurplusColumnsAreIgnoredAndNamed) {
  EXPECT_THAT(read("layer,M,N,K,dtype,us\nq,1,2,3,bf16,7\n").notices, ElementsAre(HasSubstr("ignored: layer")));
}

TEST_F(Shapes, AnyAttributeOfTheFamilyCanBeSet) {
  EXPECT_THAT(
      keys("M,N,K,dtype\n1,2,3,fp32\n", with({{"act", "GELU", "--act"}, {"out_scale", "true", "--out_scale"}}))[0],
      HasSubstr(" act=gelu out_scale=1"));
  EXPECT_EQ(message("M,N,K\n1,2,3\n", with({{"act", "gelo", "--act"}})),
            "--act expects one of none, relu, gelu, gelu_tanh, silu, got 'gelo'");
  EXPECT_EQ(message("M,N,K\n1,2,3\n", with({{"out_scale", "2", "--out_scale"}})),
            "--out_scale expects 0 or 1, got '2'");
}

TEST_F(Shapes, TheRowsThatAreLimitedAreThoseOfTheFamily) {
  const std::string header =
      "token,model_dim,inter_dim,expert,topk,act_type,dtype,q_dtype_a,q_dtype_w,q_type,use_g1u1,doweight_stage1\n";
  const std::string rest =
      ",64,32,8,2,ActivationType.Silu,torch.bfloat16,torch.bfloat16,torch.bfloat16,QuantType.No,1,0\n";
  const auto list =
      read(header + "16" + rest + "17" + rest, {.op = "fmoe", .settings = {}, .max_rows = 16}, "untuned_fmoe.csv");
  EXPECT_EQ(list.shapes.size(), 1u);
}

TEST_F(Shapes, LargeRowCountsAreSkippedOnRequest) {
  const auto list = read("M,N,K,dtype\n16,2,3,bf16\n17,2,3,bf16\n", {.op = "", .settings = {}, .max_rows = 16});
  EXPECT_EQ(list.shapes.size(), 1u);
  EXPECT_THAT(list.notices, ElementsAre(HasSubstr("1 shape with more than 16 rows")));
}

TEST_F(Shapes, WrongValuesAreRejectedWithFileAndLine) {
  const std::string sizes = "expects a whole number from 1 to 2147483647, got ";
  EXPECT_EQ(message("M,N,K\n1,2,3\n-1,2,3\n"), "bf16_untuned_gemm.csv:3: column 'M' " + sizes + "'-1'");
  EXPECT_EQ(message("M,N,K\n1,0,3\n"), "bf16_untuned_gemm.csv:2: column 'N' " + sizes + "'0'");
  EXPECT_EQ(message("M,N,K\n\n1,2,99999999999999999999\n"),
            "bf16_untuned_gemm.csv:3: column 'K' " + sizes + "'99999999999999999999'");
  EXPECT_EQ(message("M,N,K\n1,2,2147483648\n"), "bf16_untuned_gemm.csv:2: column 'K' " + sizes + "'2147483648'");
  EXPECT_EQ(message("M,N,K\n1,2,x\n"), "bf16_untuned_gemm.csv:2: column 'K' " + sizes + "'x'");
  EXPECT_EQ(message("M,N,K\n1,2,3.5\n"), "bf16_untuned_gemm.csv:2: column 'K' " + sizes + "'3.5'");
  EXPECT_EQ(message("M,N,K\n1,2\n"), "bf16_untuned_gemm.csv:2: column 'K' " + sizes + "''");
  EXPECT_EQ(message("M,N,K,dtype\n1,2,3,bf17\n"),
            "bf16_untuned_gemm.csv:2: column 'dtype' expects one of bf16, fp16, fp32, got 'bf17'");
  EXPECT_EQ(message("M,N,K,bias\n1,2,3,maybe\n"),
            "bf16_untuned_gemm.csv:2: column 'bias' expects True or False, got 'maybe'");
  EXPECT_EQ(message("M,N,K\n1,2,3,4\n"),
            "bf16_untuned_gemm.csv:2: the row has 4 cells and the header 3 columns, remove the extra cells");
  EXPECT_EQ(message("M,N\n1,2\n", {.op = "gemm_a16w16"}),
            "bf16_untuned_gemm.csv:1: a table of gemm_a16w16 needs the column 'K', the file has: M, N");
}

TEST_F(Shapes, WholeNumbersWithADecimalPointAndTrailingCommasAreAccepted) {
  EXPECT_EQ(keys("M,N,K\n128.0,2,3,,\n").size(), 1u);
}

TEST_F(Shapes, AHeaderOnlyFileHasNoShapes) { EXPECT_THAT(read("M,N,K").shapes, IsEmpty()); }

TEST(ShapeExcerpts, TabsBlankLinesAndRepetitionsOfRealFiles) {
  const auto quantised = read_shapes(excerpt("a8w8_bpreshuffle_untuned_gemm.csv"));
  EXPECT_EQ(quantised.family->op, "gemm_a8w8_bpreshuffle");
  EXPECT_EQ(quantised.shapes.at(1).problem.key(), "gemm_a8w8_bpreshuffle m=128 n=1536 k=5120 q_dtype_w=int8");
  const auto bare = read_shapes(excerpt("llama70B_untuned_gemm.csv"));
  EXPECT_EQ(bare.family->op, "gemm_a16w16");
  EXPECT_EQ(bare.shapes.size(), 5u);
  EXPECT_EQ(bare.shapes.back().line, 8u);
}

TEST(ShapeExcerpts, EveryShippedUntunedFileGivesItsShapes) {
  size_t num_files = 0, num_shapes = 0;
  for (const auto& file : shipped_tables()) {
    const auto name = file.filename().string();
    if (name.find("untuned") == std::string::npos || name.find("chunk_gdn") != std::string::npos) continue;
    const auto list = read_shapes(file);
    ++num_files;
    num_shapes += list.shapes.size();
  }
  if (num_files == 0) GTEST_SKIP() << "the folder of shipped tables is not there (ATTUNE_SHARED_DATA)";
  EXPECT_EQ(num_files, 44u);
  EXPECT_GT(num_shapes, 5000u);
}

}  // namespace
}  // namespace attune
