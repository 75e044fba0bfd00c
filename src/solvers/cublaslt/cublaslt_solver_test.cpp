// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "cublaslt_matmul.h"
#include "device/devices.h"
#include "testing/opened_solver.h"

namespace attune {
namespace {

TEST(CublasltWorkspace, IsWhatPyTorchGivesCublasOnTheArchitecture) {
  for (const int capability : {80, 86, 89}) EXPECT_EQ(heuristic_workspace_bytes(capability), 8519680u) << capability;
  for (const int capability : {90, 100, 120}) EXPECT_EQ(heuristic_workspace_bytes(capability), 33554432u) << capability;
}

class Cublaslt : public testing::Test {
 protected:
  void SetUp() override {
    if (list_devices("cuda:0").empty()) GTEST_SKIP() << "no NVIDIA GPU is here";
    cublaslt_.emplace("cublaslt.gemm", "cuda:0");
    ASSERT_EQ(cublaslt_->unavailable(), "");
  }
  std::optional<OpenedSolver> cublaslt_;
};

TEST_F(Cublaslt, ComputesEveryTypeLayoutAndEpilogueWithTheAlgorithmItPrefers) {
  for (const char* problem :
       {"gemm_a16w16 m=1 n=64 k=128 dtype=fp32", "gemm_a16w16 m=7 n=33 k=65 dtype=fp32 bias=1",
        "gemm_a16w16 m=32 n=48 k=64 dtype=fp32 trans_b=0", "gemm_a16w16 m=16 n=17 k=40 dtype=fp32 trans_a=1",
        "gemm_a16w16 m=24 n=24 k=72 dtype=bf16 bias=1 trans_a=1 trans_b=0", "gemm_a16w16 m=1 n=31 k=96 dtype=bf16",
        "gemm_a16w16 m=16 n=32 k=64 dtype=bf16 outdtype=fp32", "gemm_a16w16 m=5 n=40 k=64 dtype=fp16 bias=1",
        "gemm_a16w16 m=16 n=32 k=64 dtype=bf16 bias=1 act=relu", "gemm_a16w16 m=16 n=32 k=64 dtype=bf16 act=gelu_tanh"})
    EXPECT_EQ(cublaslt_->wrong(problem, cublaslt_->backend().default_config(cublaslt_->problem(problem)).key()), "")
        << problem;
}

TEST_F(Cublaslt, ListsWhatItAcceptsAndWhatItPrefers) {
  for (const char* problem : {"gemm_a16w16 m=64 n=256 k=512 dtype=bf16", "gemm_a16w16 m=3 n=257 k=511 dtype=bf16"}) {
    const auto all = cublaslt_->configs(problem);
    EXPECT_GT(all.size(), 8u);
    EXPECT_THAT(all, testing::Contains(cublaslt_->backend().default_config(cublaslt_->problem(problem))));
    size_t num_checked = 0;
    for (size_t i = 0; i < all.size(); i += all.size() / 8 + 1) {
      if (all[i].integer("reduction") == 1 || all[i].integer("reduction") == 4) continue;  // Sums of rounded parts.
      EXPECT_EQ(cublaslt_->wrong(problem, all[i].key()), "") << problem << " " << all[i].key();
      ++num_checked;
    }
    EXPECT_GE(num_checked, 1u) << problem;
  }
}

TEST_F(Cublaslt, RefusesAnAlgorithmThatItDoesNotHave) {
  const char* const problem = "gemm_a16w16 m=64 n=256 k=512 dtype=bf16";
  EXPECT_NE(cublaslt_->refusal(problem,
                               "algo=9999;cluster=0;custom=0;inner=0;reduction=0;splitk=1;stages=0;swizzle=0;"
                               "tile=0"),
            "");
}

TEST(CublasltSolver, SupportsWhatAnNvidiaGpuMultiplies) {
  const auto found = std::ranges::find(registry().entries(), "cublaslt.gemm", &SolverEntry::id);
  ASSERT_NE(found, registry().entries().end());
  DeviceInfo gpu;
  gpu.kind = "cuda";
  const auto reason = [&](const std::string& text) {
    const auto problem = Problem::parse(text);
    return found->solver->supports(op_of(problem).normalise(problem, gpu), gpu).reason;
  };
  EXPECT_EQ(reason("gemm_a16w16 m=1 n=64 k=128 dtype=bf16 act=gelu_tanh bias=1"), "");
  EXPECT_THAT(reason("gemm_a16w16 m=1 n=64 k=128 dtype=bf16 outdtype=fp32 act=gelu_tanh"),
              testing::HasSubstr("act=gelu_tanh"));
  EXPECT_EQ(reason("gemm_a16w16 m=5 n=40 k=64 dtype=fp16 outdtype=fp32 bias=1"),
            "takes a bias of the result's type only");
  EXPECT_NE(reason("gemm_a16w16 m=1 n=64 k=128 dtype=bf16 act=silu"), "");
  EXPECT_NE(reason("gemm_a16w16 m=1 n=64 k=128 dtype=bf16 bpreshuffle=1"), "");
  gpu.kind = "host";
  EXPECT_EQ(reason("gemm_a16w16 m=1 n=64 k=128 dtype=bf16"), "runs on an NVIDIA GPU only");
}

}  // namespace
}  // namespace attune
