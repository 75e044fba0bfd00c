// SPDX-License-Identifier: MIT
#include "pipeline/table_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/error.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
namespace fs = std::filesystem;

constexpr std::string_view kBlockscale = "gfx,cu_num,M,N,K,libtype,kernelId,splitK,us,kernelName,tflops,bw,errRatio\n";

TableFiles files_in(const fs::path& path, const FamilySpec* family = nullptr) {
  return read_table_files(std::span(&path, 1), family);
}

std::vector<std::string> names_of(const FamilyFiles& files) {
  std::vector<std::string> names;
  for (const CsvDocument& document : files.documents) names.push_back(fs::path(document.name()).filename());
  return names;
}

TEST(TableFiles, AreThoseOfAFolderInTheOrderOfTheRunTime) {
  const TestFolder folder;
  fs::create_directory(folder.path() / "model_configs");
  folder.put("a8w8_blockscale_tuned_gemm.csv", kBlockscale);
  folder.put("model_configs/z_a8w8_blockscale_tuned_gemm.csv", kBlockscale);
  folder.put("model_configs/a_a8w8_blockscale_tuned_gemm.csv", kBlockscale);
  folder.put("a8w8_blockscale_untuned_gemm.csv", "M,N,K\n1,2,3\n");
  folder.put("README.md", "text");
  const TableFiles found = files_in(folder.path());
  ASSERT_EQ(found.families.size(), 1u);
  EXPECT_EQ(found.families[0].family->op, "gemm_a8w8_blockscale");
  EXPECT_THAT(names_of(found.families[0]),
              ElementsAre("a_a8w8_blockscale_tuned_gemm.csv", "z_a8w8_blockscale_tuned_gemm.csv",
                          "a8w8_blockscale_tuned_gemm.csv"));
  EXPECT_EQ(found.num_lists, 1u);
  EXPECT_THAT(found.skipped, IsEmpty());
  EXPECT_THAT(found.findings, IsEmpty());
  EXPECT_EQ(found.num_files, 3u);
}

TEST(TableFiles, ThatCannotBeReadAreFindingsAndTheOthersGoOn) {
  const TestFolder folder;
  folder.put("a8w8_blockscale_tuned_gemm.csv", kBlockscale);
  folder.put("bf16_tuned_gemm.csv", "gfx,cu_num,M,N\n\x01\n");
  folder.put("bf16_tuned_batched_gemm.csv", "gfx,cu_num,M,N,K,us\n");
  folder.put("chunk_tuned.csv", "gfx,cu_num,H,us\n");
  const TableFiles found = files_in(folder.path());
  EXPECT_EQ(found.families.size(), 1u);
  EXPECT_EQ(found.num_files, 3u);
  ASSERT_EQ(found.findings.size(), 2u);
  // Without its column B the table looks like one of gemm_a16w16.
  EXPECT_EQ(found.findings[0].kind, FindingKind::missing_column);
  EXPECT_EQ(found.findings[0].detail, "a table of batched_gemm_bf16 needs the column 'B' to be read");
  EXPECT_EQ(found.findings[1].kind, FindingKind::unreadable);
  EXPECT_EQ(found.findings[1].line, 2u);
  EXPECT_THAT(found.skipped, ElementsAre(HasSubstr("unknown family")));
}

TEST(TableFiles, AreOfTheFamilyWhoseColumnsTheyHave) {
  const TestFolder folder;
  // The name has the stems of two families.
  folder.put("a8w8_blockscale_tuned_fmoe.csv",
             "cu_num,token,model_dim,inter_dim,expert,topk,act_type,dtype,q_dtype_a,q_dtype_w,q_type,use_g1u1,"
             "doweight_stage1,block_m,ksplit,us1,kernelName1,err1,us2,kernelName2,err2,us,run_1stage,tflops,bw\n");
  const TableFiles found = files_in(folder.path());
  ASSERT_EQ(found.families.size(), 1u);
  EXPECT_EQ(found.families[0].family->op, "fmoe");
  EXPECT_THAT(found.findings, IsEmpty());
}

TEST(TableFiles, OfANamedFamilyAreReadWhateverTheirName) {
  const TestFolder folder;
  const auto file = folder.put("x.csv", kBlockscale);
  EXPECT_EQ(files_in(file, find_family("gemm_a8w8_blockscale_bpreshuffle")).families.at(0).family->op,
            "gemm_a8w8_blockscale_bpreshuffle");
}

TEST(TableFiles, ThatAreNotThereAreRefused) {
  const TestFolder folder;
  EXPECT_THROW(files_in(folder.path() / "none"), Error);
  EXPECT_THROW(files_in(folder.path()), Error);
  EXPECT_THROW(files_in(folder.put("mail.db", "SQLite\x01")), Error);
  EXPECT_THROW(files_in(folder.put("bf16_untuned_gemm.csv", "M,N,K\n1,2,3\n")), Error);
}

}  // namespace
}  // namespace attune
