// SPDX-License-Identifier: MIT
#include "ops/counted_work.h"

#include <gtest/gtest.h>

#include "ops/family.h"

namespace attune {
namespace {

/// `tflops` and `bw` of a row that takes `us`.
double tflops(const CountedWork& work, double us) { return work.flops / us / 1e6; }
double bandwidth(const CountedWork& work, double us) { return work.bytes / us / 1e3; }

CountedWork counted(const std::string& key) {
  const Problem problem = Problem::parse(key);
  return find_family(problem.op())->counted_work(problem);
}

// The rows are from ROCm/aiter, aiter/configs (MIT).
TEST(CountedWork, GivesTheRatesThatTheOlderTunersWroteForProducts) {
  const CountedWork bf16 = counted("gemm_a16w16 m=64 n=256 k=5120 dtype=bf16 outdtype=fp32");
  EXPECT_NEAR(tflops(bf16, 7.9191), 21.19, 0.005);
  EXPECT_NEAR(bandwidth(bf16, 7.9191), 417.92, 0.01);
  const CountedWork int8 = counted("gemm_a8w8 m=1 n=1280 k=8192 q_dtype_w=int8");
  EXPECT_NEAR(tflops(int8, 20.5611), 1.02, 0.005);
  EXPECT_NEAR(bandwidth(int8, 20.5611), 510.5, 0.01);
  const CountedWork fp4 = counted("gemm_a4w4_blockscale m=1 n=512 k=4096");
  EXPECT_NEAR(tflops(fp4, 5.4049), 0.78, 0.005);
  EXPECT_NEAR(bandwidth(fp4, 5.4049), 194.57, 0.01);
  const CountedWork batched = counted("batched_gemm_bf16 batch=16 m=1 n=1280 k=8192");
  EXPECT_NEAR(tflops(batched, 111.9323), 3.0, 0.005);
  EXPECT_NEAR(bandwidth(batched, 111.9323), 3000.45, 0.01);
}

TEST(CountedWork, GivesTheRatesThatTheOlderTunersWroteForExperts) {
  const CountedWork fp4 = counted(
      "fmoe token=1 model_dim=6144 inter_dim=2048 expert=257 topk=9 act_type=ActivationType.Silu dtype=bf16 "
      "q_dtype_a=torch.float4_e2m1fn_x2 q_dtype_w=torch.float4_e2m1fn_x2 q_type=QuantType.per_1x32 use_g1u1=1 "
      "doweight_stage1=0");
  EXPECT_NEAR(tflops(fp4, 40.0196), 16.98, 0.005);
  EXPECT_NEAR(bandwidth(fp4, 40.0196), 242417.31, 1);
  EXPECT_EQ(fp4.arithmetic, DType::e2m1);
}

TEST(CountedWork, BoundsTheBytesFromBelowWhereTheConventionCountsTooMany) {
  const CountedWork fp8 = counted("gemm_a16w16 m=64 n=256 k=5120 dtype=e4m3fn outdtype=bf16");
  EXPECT_EQ(fp8.least_bytes, 64 * 5120 + 256 * 5120 + 2 * 64 * 256);
  EXPECT_EQ(fp8.bytes, 2 * (64 * 5120 + 256 * 5120 + 64 * 256));
  const CountedWork experts = counted(
      "fmoe token=1 model_dim=64 inter_dim=32 expert=8 topk=2 act_type=a dtype=bf16 q_dtype_a=torch.bfloat16 "
      "q_dtype_w=torch.int4 q_type=q use_g1u1=0 doweight_stage1=0");
  EXPECT_EQ(experts.least_bytes, 64 * 2 + 2 * 2 * 32 * 64 / 2);
}

}  // namespace
}  // namespace attune
