// SPDX-License-Identifier: MIT
#include "formats/csv/family_of_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/text.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::HasSubstr;

std::string family(const std::string& name, const std::string& header, std::string_view op = {}) {
  try {
    return std::string(family_of_file(CsvDocument::parse(header + "\n", name), op).family->op);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
}

const std::string kFmoeKey =
    "token,model_dim,inter_dim,expert,topk,act_type,dtype,q_dtype_a,q_dtype_w,q_type,use_g1u1,doweight_stage1";

TEST(FamilyOfFile, TheLongestStemInTheNameWins) {
  EXPECT_EQ(family("x/a8w8_untuned_gemm.csv", "M,N,K"), "gemm_a8w8");
  EXPECT_EQ(family("a8w8_blockscale_untuned_gemm.csv", "M,N,K"), "gemm_a8w8_blockscale");
  EXPECT_EQ(family("glm_A8W8_blockscale_bpreshuffle_x.csv", "M,N,K"), "gemm_a8w8_blockscale_bpreshuffle");
  EXPECT_EQ(family("bf16_untuned_batched_gemm.csv", "B,M,N,K"), "batched_gemm_bf16");
  EXPECT_EQ(family("llama_untuned_gemm_bf16.csv", "M,N,K"), "gemm_a16w16");
}

TEST(FamilyOfFile, OnlyTheFileNameCountsNotItsFolder) { EXPECT_THAT(family("a8w8/x.csv", "M,N,K"), "gemm_a16w16"); }

TEST(FamilyOfFile, AStemWhoseColumnsAreMissingGivesWayToOneThatFits) {
  EXPECT_EQ(family("a8w8_blockscale_tuned_fmoe_ds_v3.csv", kFmoeKey), "fmoe");
  EXPECT_EQ(family("qwen_bf16_untuned_fmoe.csv", kFmoeKey), "fmoe");
}

TEST(FamilyOfFile, TheColumnsDecideWhenTheNameSaysNothing) {
  EXPECT_EQ(family("x.csv", "M,N,K,bias,dtype,outdtype,scaleAB"), "gemm_a16w16");
  EXPECT_EQ(family("x.csv", kFmoeKey), "fmoe");
  EXPECT_THAT(
      family("x.csv", "M,N,K,q_dtype_w"),
      HasSubstr("x.csv:1: the columns fit several families (gemm_a8w8, gemm_a8w8_bpreshuffle), name one with --op"));
  EXPECT_EQ(family("x.csv", "gfx,cu_num,M,N,K,q_dtype_w,libtype,kernelId,us"), "gemm_a8w8_bpreshuffle");
}

TEST(FamilyOfFile, BareSizesAreGemmA16W16AndTheProgramSaysSo) {
  const auto found = family_of_file(CsvDocument::parse("m,n,k,note\n", "shapes.csv"));
  EXPECT_EQ(found.family->op, "gemm_a16w16");
  ASSERT_EQ(found.notices.size(), 1u);
  EXPECT_THAT(found.notices[0], HasSubstr("shapes.csv: "));
  EXPECT_THAT(found.notices[0], HasSubstr("gemm_a16w16"));
}

TEST(FamilyOfFile, AnUnknownFamilyIsNamedByItsColumns) {
  EXPECT_THAT(family("chunk_gdn.csv", "H,Hg,V,us"),
              HasSubstr("chunk_gdn.csv:1: unknown family, name one that Attune knows with --op; the file has the "
                        "columns: H, Hg, V, us"));
  EXPECT_EQ(family("x.csv", "gfx,cu_num,M,N,K,q_dtype_w,libtype,kernelId,us"), "gemm_a8w8_bpreshuffle");
  EXPECT_THAT(family("mxscale.csv", "gfx,b,m,n,k,libtype,kernelId,splitK,us,kernelName"), HasSubstr("unknown family"));
}

TEST(FamilyOfFile, ATableWhoseKeyHasMoreColumnsThanItsFamilyIsRefusedByTheFamilysName) {
  EXPECT_THAT(
      family("tuned_fhmoe.csv", "gfx,cu_num," + kFmoeKey + ",gate_mode,block_m,ksplit,kernelName1,kernelName2"),
      HasSubstr("tuned_fhmoe.csv:1: this is a table of fmoe whose key has more columns than this version knows, "
                "so its rows cannot be told apart and are not read: gate_mode"));
  EXPECT_EQ(family("untuned_fhmoe.csv", "gfx,cu_num," + kFmoeKey), "fmoe");
}

TEST(FamilyOfFile, TheOpGivenWinsAndMustFit) {
  EXPECT_EQ(family("a8w8_untuned_gemm.csv", "M,N,K", "gemm_a16w16"), "gemm_a16w16");
  EXPECT_EQ(family("x.csv", "M,N,K", "ck_gemm_a8w8"), "gemm_a8w8");
  EXPECT_THAT(family("x.csv", "M,N,K", "gemm_b1"), HasSubstr("use one of gemm_a16w16, "));
  EXPECT_EQ(family("x.csv", "M,N", "gemm_a8w8"),
            "x.csv:1: a table of gemm_a8w8 needs the column 'K', the file has: M, N");
}

TEST(FamilyOfFile, TheFamilyOfANewFileIsInItsName) {
  EXPECT_EQ(family_of_name("out/bf16_tuned_gemm.csv")->op, "gemm_a16w16");
  EXPECT_EQ(family_of_name("a8w8_tuned_batched_gemm.csv")->op, "batched_gemm_a8w8");
  EXPECT_EQ(family_of_name("out.csv"), nullptr);
  EXPECT_EQ(family_of_name("bf16_tuned_fmoe.csv"), nullptr);
}

/// The expected result for a shipped file, derived from its name alone.
std::string expected_of_shipped(const std::string& name) {
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  if (has("chunk_gdn")) return "unknown family";
  if (name == "tuned_fhmoe.csv") return "a table of fmoe";
  if (has("moe")) return "fmoe";
  if (has("batched")) return has("bf16") ? "batched_gemm_bf16" : "batched_gemm_a8w8";
  if (has("a4w4")) return "gemm_a4w4_blockscale";
  if (!has("a8w8")) return "gemm_a16w16";
  return std::string("gemm_a8w8") + (has("blockscale") ? "_blockscale" : "") +
         (has("bpreshuffle") ? "_bpreshuffle" : "");
}

TEST(FamilyOfFile, EveryShippedFileHasTheFamilyItsAuthorsMeant) {
  const auto files = shipped_tables();
  if (files.empty()) GTEST_SKIP() << "the folder of shipped tables is not there (ATTUNE_SHARED_DATA)";
  for (const auto& file : files) {
    std::string found;
    try {
      found = family_of_file(CsvDocument::read(file)).family->op;
    } catch (const Error& error) {
      found = error.what();
    }
    const auto expected = expected_of_shipped(file.filename().string());
    EXPECT_EQ(expected.find(' ') != std::string::npos ? found.find(expected) != std::string::npos : found == expected,
              true)
        << file << ' ' << found;
  }
}

TEST(FamilyOfFile, ColumnsThatTheNearestFamilyLacksAreNamed) {
  EXPECT_THAT(family("x.csv", "M,N,bias"), HasSubstr("; gemm_a16w16 would need K too"));
  EXPECT_THAT(family("x.csv", "token,model_dim,inter_dim"), HasSubstr("; fmoe would need expert, topk"));
  EXPECT_THAT(family("x.csv", "apples,pears"), testing::Not(HasSubstr("would need")));
}

}  // namespace
}  // namespace attune
