// SPDX-License-Identifier: MIT
#include "formats/csv/untuned_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/error.h"
#include "formats/csv/shape_list.h"
#include "testing/test_files.h"

namespace attune {
namespace {

const FamilySpec& family(std::string_view op) { return *find_family(op); }

TEST(UntunedTable, HasTheFamilysColumnsAsOlderToolsWriteThem) {
  const Problem problem = Problem::parse("gemm_a16w16 m=1 n=2 k=3 dtype=bf16 outdtype=fp32 bias=1");
  EXPECT_EQ(untuned_text(family("gemm_a16w16"), {&problem, 1}),
            "M,N,K,bias,dtype,outdtype,scaleAB,bpreshuffle\n1,2,3,True,torch.bfloat16,torch.float32,False,False\n");
  const Problem other = problem.with("trans_a", "1");
  EXPECT_THAT(untuned_text(family("gemm_a16w16"), {&other, 1}), testing::HasSubstr(",bpreshuffle,trans_a\n"));
}

TEST(UntunedTable, IsReadBackAsTheSameProblems) {
  const TestFolder folder;
  const std::string fmoe =
      "fmoe token=1 model_dim=2880 inter_dim=360 expert=128 topk=4 act_type=ActivationType.Swiglu dtype=bf16 "
      "q_dtype_a=torch.bfloat16 q_dtype_w=torch.float4_e2m1fn_x2 q_type=QuantType.per_1x32 use_g1u1=1 "
      "doweight_stage1=0";
  for (const std::string& key :
       {std::string("gemm_a16w16 m=1 n=2 k=3 bias=0 dtype=fp16 outdtype=fp16 scale_ab=0 bpreshuffle=0"),
        std::string("gemm_a8w8 m=1 n=2 k=3 q_dtype_w=e4m3fn"), std::string("gemm_a8w8_blockscale m=1 n=2 k=3"),
        std::string("gemm_a4w4_blockscale m=1 n=2 k=3"), fmoe}) {
    const Problem problem = Problem::parse(key);
    const FamilySpec& spec = family(problem.op());
    const auto list = read_shapes(folder.put(untuned_file_name(spec), untuned_text(spec, {&problem, 1})));
    EXPECT_EQ(list.family, &spec);
    ASSERT_EQ(list.shapes.size(), 1u);
    EXPECT_EQ(list.shapes[0].problem.key(), key);
  }
}

TEST(UntunedTable, ReplacesOnlyListsOfItsFamily) {
  const TestFolder folder;
  const FamilySpec& spec = family("gemm_a16w16");
  EXPECT_NO_THROW(check_untuned_output(folder.path() / "new.csv", spec));
  EXPECT_NO_THROW(check_untuned_output(folder.put("empty.csv", ""), spec));
  EXPECT_NO_THROW(check_untuned_output(folder.put("list.csv", "m,n,k,bias\n1,2,3,0\n"), spec));
  EXPECT_THROW(check_untuned_output(folder.put("tuned.csv", "M,N,K,us\n1,2,3,4\n"), spec), Error);
  EXPECT_THROW(check_untuned_output(folder.put("batched.csv", "B,M,N,K\n1,2,3,4\n"), spec), Error);
  EXPECT_THROW(check_untuned_output(folder.put("letter.csv", "Dear reader\n"), spec), Error);
}

}  // namespace
}  // namespace attune
