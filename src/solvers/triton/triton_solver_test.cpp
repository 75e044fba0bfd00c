// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "device/devices.h"
#include "testing/opened_solver.h"

namespace attune {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(TritonSolver, TakesEveryLayoutAndSaysWhatIsMissing) {
  const Solver* const solver = registry().find("triton.gemm");
  ASSERT_NE(solver, nullptr);
  DeviceInfo gpu = {
      .id = "cuda:0", .kind = "cuda", .gfx = "sm_90", .num_units = 132, .facts = {{"shared_bytes", 232448}}};
  const auto reason = [&](const std::string& text) {
    const Problem problem = Problem::parse(text);
    return solver->supports(op_of(problem).normalise(problem, gpu), gpu).reason;
  };
  EXPECT_EQ(reason("gemm_a16w16 m=1 n=1 k=1 dtype=bf16"), "");
  EXPECT_EQ(reason("gemm_a16w16 m=333 n=4099 k=2057 dtype=fp16 outdtype=fp32 bias=1 trans_b=0"), "");
  EXPECT_EQ(reason("gemm_a16w16 m=650 n=64 k=64 dtype=fp32 trans_a=1"), "");
  EXPECT_THAT(reason("gemm_a16w16 m=3 n=65 k=63 dtype=bf16 bpreshuffle=1"), HasSubstr("packed"));
  EXPECT_THAT(reason("gemm_a16w16 m=1 n=64 k=64 dtype=bf16 act=relu"), HasSubstr("activation"));
  gpu.gfx = "sm_75";
  EXPECT_THAT(reason("gemm_a16w16 m=1 n=64 k=64 dtype=bf16"), HasSubstr("8.0"));
  gpu.kind = "host";
  EXPECT_THAT(reason("gemm_a16w16 m=1 n=64 k=64 dtype=bf16"), HasSubstr("NVIDIA GPU"));
}

/// On the GPU of this machine.
class TritonGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (list_devices("cuda:0").empty()) GTEST_SKIP() << "no NVIDIA GPU is here";
    for (const SolverEntry& entry : registry().entries()) {
      if (entry.id != "triton.gemm") continue;
      if (const std::string why = Registry::why_unavailable(entry); !why.empty()) GTEST_SKIP() << "no Triton: " << why;
    }
    triton_.emplace("triton.gemm", "cuda:0");
  }
  std::optional<OpenedSolver> triton_;
};

TEST_F(TritonGpu, ComputesEveryTypeAndLayoutWithItsFirstStarts) {
  constexpr size_t kNumStarts = 2;
  for (const char* problem :
       {"gemm_a16w16 m=1 n=64 k=128 dtype=fp32", "gemm_a16w16 m=70 n=33 k=65 dtype=fp32 bias=1",
        "gemm_a16w16 m=1 n=31 k=96 dtype=bf16", "gemm_a16w16 m=16 n=2304 k=4096 dtype=bf16 outdtype=fp32",
        "gemm_a16w16 m=333 n=1000 k=1024 dtype=fp16 bias=1", "gemm_a16w16 m=100 n=130 k=257 dtype=bf16 bias=1",
        "gemm_a16w16 m=1 n=1 k=1 dtype=bf16", "gemm_a16w16 m=100 n=136 k=520 dtype=bf16 trans_b=0",
        "gemm_a16w16 m=128 n=130 k=257 dtype=fp16 trans_a=1",
        "gemm_a16w16 m=136 n=264 k=512 dtype=bf16 trans_a=1 trans_b=0"}) {
    auto starts = triton_->backend().recommended(triton_->problem(problem));
    starts.resize(std::min(starts.size(), kNumStarts));
    for (const Config& config : starts) EXPECT_THAT(triton_->wrong(problem, config.key()), IsEmpty());
  }
}

TEST_F(TritonGpu, AddsPartsOfKInASecondLaunch) {
  for (const char* problem :
       {"gemm_a16w16 m=5 n=512 k=4096 dtype=bf16 bias=1", "gemm_a16w16 m=33 n=43 k=4099 dtype=fp16"}) {
    for (const int parts : {2, 5, 24})
      EXPECT_THAT(triton_->wrong(problem,
                                 "BLOCK_SIZE_M=16;BLOCK_SIZE_N=32;BLOCK_SIZE_K=64;GROUP_SIZE_M=1;num_warps=2;num_"
                                 "stages=2;SPLIT_K=" +
                                     std::to_string(parts)),
                  IsEmpty());
  }
}

}  // namespace
}  // namespace attune
