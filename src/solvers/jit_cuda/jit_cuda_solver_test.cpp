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

/// The solver on a GPU that is described and need not be here.
class JitCudaSolverFacts : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(solver_, nullptr); }
  Problem problem(const std::string& text) const {
    return op_of(Problem::parse(text)).normalise(Problem::parse(text), gpu_);
  }
  std::string reason(const std::string& text) const { return solver_->supports(problem(text), gpu_).reason; }
  const Solver* solver_ = registry().find("jit_cuda.gemm");
  DeviceInfo gpu_ = {
      .id = "cuda:0", .kind = "cuda", .gfx = "sm_90", .num_units = 132, .facts = {{"shared_bytes", 232448}}};
};

TEST_F(JitCudaSolverFacts, TakeEverySizeOfPlainRowsAndSayWhatIsMissing) {
  EXPECT_EQ(reason("gemm_a16w16 m=1 n=1 k=1 dtype=bf16"), "");
  EXPECT_EQ(reason("gemm_a16w16 m=333 n=4099 k=2057 dtype=fp16 outdtype=fp32 bias=1"), "");
  EXPECT_EQ(reason("gemm_a16w16 m=64 n=64 k=64 dtype=fp32"), "");
  EXPECT_THAT(reason("gemm_a16w16 m=65 n=64 k=64 dtype=fp32"), HasSubstr("at most 64 rows"));
  EXPECT_THAT(reason("gemm_a16w16 m=1 n=64 k=64 dtype=bf16 trans_b=0"), HasSubstr("lie along K"));
  EXPECT_EQ(reason("gemm_a16w16 m=3 n=65 k=63 dtype=bf16 bpreshuffle=1"), "");
  EXPECT_THAT(reason("gemm_a16w16 m=1 n=64 k=64 dtype=bf16 act=relu"), HasSubstr("activation"));
  gpu_.gfx = "sm_75";
  EXPECT_THAT(reason("gemm_a16w16 m=1 n=64 k=64 dtype=bf16"), HasSubstr("8.0"));
  gpu_.kind = "host";
  EXPECT_THAT(reason("gemm_a16w16 m=1 n=64 k=64 dtype=bf16"), HasSubstr("NVIDIA GPU"));
}

/// `attune kernels build` makes a kernel from what a table's row names, without the device.
TEST_F(JitCudaSolverFacts, ANameIsEnoughToCompileItsKernel) {
  for (const char* text :
       {"gemm_a16w16 m=5 n=512 k=1024 dtype=bf16", "gemm_a16w16 m=5 n=512 k=1024 dtype=bf16 bpreshuffle=1"}) {
    const Problem one = problem(text);
    for (uint64_t i = 0; i < 4; ++i) {
      const SearchSpace space = solver_->static_space()->space(one, gpu_);
      const Candidate candidate{"jit_cuda.gemm", "3", space.at(i * (space.size() - 1) / 3)};
      const Candidate read = Candidate::parse(candidate.name());
      EXPECT_EQ(read, candidate);
      EXPECT_EQ(solver_->compile_tasks(one, read.config, gpu_).front().recipe(),
                solver_->compile_tasks(one, candidate.config, gpu_).front().recipe());
    }
  }
}

/// The second launch is no part of a kernel, but one binary of its own for all configs of the types.
TEST_F(JitCudaSolverFacts, TheSecondLaunchIsOneTaskForAllConfigsThatHaveIt) {
  const Problem one = problem("gemm_a16w16 m=5 n=512 k=4096 dtype=bf16");
  const auto tasks = [&](const char* config) { return solver_->compile_tasks(one, Config::parse(config), gpu_); };
  const auto dot = tasks("kernel=dot;rows=2;columns=2;warps=1;depth_warps=4;unroll=1;split_k=4;reduce=launch");
  const auto tile = tasks(
      "kernel=tile;block_m=16;block_n=32;block_k=64;stages=2;m_warps=1;n_warps=2;group_m=1;split_k=2;reduce=launch");
  ASSERT_EQ(dot.size(), 2u);
  ASSERT_EQ(tile.size(), 2u);
  EXPECT_EQ(dot[1].recipe(), tile[1].recipe());
  EXPECT_NE(dot[0].recipe(), tile[0].recipe());
  const auto in_block = tasks("kernel=dot;rows=2;columns=2;warps=1;depth_warps=4;unroll=1;split_k=4;reduce=block");
  ASSERT_EQ(in_block.size(), 1u);
  EXPECT_EQ(in_block[0].recipe(), dot[0].recipe()) << "whoever adds the parts, they are left alike";
  EXPECT_EQ(tasks("kernel=dot;rows=2;columns=2;warps=1;depth_warps=4;unroll=1;split_k=1").size(), 1u);
}

/// On the GPU of this machine.
class JitCudaGpu : public testing::Test {
 protected:
  void SetUp() override {
    if (list_devices("cuda:0").empty()) GTEST_SKIP() << "no NVIDIA GPU is here";
    jit_.emplace("jit_cuda.gemm", "cuda:0");
    ASSERT_EQ(jit_->unavailable(), "");
  }
  std::optional<OpenedSolver> jit_;
};

TEST_F(JitCudaGpu, ComputesEveryTypeWithItsFirstStarts) {
  constexpr size_t kNumStarts = 3;
  for (const char* problem :
       {"gemm_a16w16 m=1 n=64 k=128 dtype=fp32", "gemm_a16w16 m=7 n=33 k=65 dtype=fp32 bias=1",
        "gemm_a16w16 m=1 n=31 k=96 dtype=bf16", "gemm_a16w16 m=16 n=2304 k=4096 dtype=bf16 outdtype=fp32",
        "gemm_a16w16 m=5 n=40 k=64 dtype=fp16 bias=1", "gemm_a16w16 m=100 n=130 k=257 dtype=bf16 bias=1",
        "gemm_a16w16 m=1 n=1 k=1 dtype=bf16", "gemm_a16w16 m=5 n=43 k=99 dtype=bf16 bias=1 bpreshuffle=1",
        "gemm_a16w16 m=30 n=130 k=256 dtype=fp16 bpreshuffle=1"}) {
    auto starts = jit_->backend().recommended(jit_->problem(problem));
    starts.resize(std::min(starts.size(), kNumStarts));
    for (const Config& config : starts) EXPECT_THAT(jit_->wrong(problem, config.key()), IsEmpty());
  }
}

TEST_F(JitCudaGpu, ComputesSharesOfAllTiles) {
  for (const char* problem :
       {"gemm_a16w16 m=300 n=1000 k=2048 dtype=bf16 bias=1", "gemm_a16w16 m=129 n=4099 k=2057 dtype=fp16",
        "gemm_a16w16 m=900 n=2433 k=512 dtype=bf16 outdtype=fp32 bpreshuffle=1"}) {
    size_t num_tried = 0;
    for (const Config& config : jit_->backend().recommended(jit_->problem(problem))) {
      if (!config.has("blocks")) continue;
      EXPECT_THAT(jit_->wrong(problem, config.key()), IsEmpty());
      ++num_tried;
    }
    EXPECT_GT(num_tried, 0u) << problem;
  }
}

TEST_F(JitCudaGpu, RefusesAConfigThatARuleExcludes) {
  EXPECT_THAT(jit_->refusal("gemm_a16w16 m=1 n=64 k=64 dtype=bf16",
                            "kernel=dot;rows=8;columns=4;warps=2;depth_warps=1;unroll=1;split_k=1"),
              HasSubstr("padding"));
}

}  // namespace
}  // namespace attune
