// SPDX-License-Identifier: MIT
#include <gtest/gtest.h>

#include <algorithm>

#include "device/devices.h"
#include "solver/contender.h"
#include "testing/opened_solver.h"

namespace attune {
namespace {

class Cublas : public testing::Test {
 protected:
  void SetUp() override {
    if (list_devices("cuda:0").empty()) GTEST_SKIP() << "no NVIDIA GPU is here";
    cublas_.emplace("cublas.gemm", "cuda:0");
    ASSERT_EQ(cublas_->unavailable(), "");
  }
  std::optional<OpenedSolver> cublas_;
};

TEST_F(Cublas, ComputesEveryTypeAndLayoutWithEachWorkspace) {
  for (const char* problem :
       {"gemm_a16w16 m=1 n=64 k=128 dtype=fp32", "gemm_a16w16 m=7 n=33 k=65 dtype=fp32",
        "gemm_a16w16 m=32 n=48 k=64 dtype=fp32 trans_b=0", "gemm_a16w16 m=16 n=17 k=40 dtype=fp32 trans_a=1",
        "gemm_a16w16 m=24 n=24 k=72 dtype=bf16 trans_a=1 trans_b=0", "gemm_a16w16 m=1 n=31 k=96 dtype=bf16",
        "gemm_a16w16 m=16 n=32 k=64 dtype=bf16 outdtype=fp32", "gemm_a16w16 m=5 n=40 k=64 dtype=fp16"}) {
    const auto all = cublas_->configs(problem);
    EXPECT_EQ(all.size(), 2u);
    for (const Config& one : all) EXPECT_EQ(cublas_->wrong(problem, one.key()), "") << problem << " " << one.key();
  }
}

TEST_F(Cublas, RefusesAWorkspaceThatItDoesNotOffer) {
  EXPECT_NE(cublas_->refusal("gemm_a16w16 m=64 n=256 k=512 dtype=bf16", "workspace_mib=7"), "");
}

TEST(CublasSolver, SupportsProductsWithoutABias) {
  const auto found = std::ranges::find(registry().entries(), "cublas.gemm", &SolverEntry::id);
  ASSERT_NE(found, registry().entries().end());
  DeviceInfo gpu;
  gpu.kind = "cuda";
  const auto reason = [&](const std::string& text) {
    const auto problem = Problem::parse(text);
    return found->solver->supports(op_of(problem).normalise(problem, gpu), gpu).reason;
  };
  EXPECT_EQ(reason("gemm_a16w16 m=1 n=64 k=128 dtype=bf16"), "");
  EXPECT_EQ(reason("gemm_a16w16 m=1 n=64 k=128 dtype=fp16 outdtype=fp32"), "");
  EXPECT_EQ(reason("gemm_a16w16 m=1 n=64 k=128 dtype=bf16 bias=1"), "adds no bias");
  EXPECT_NE(reason("gemm_a16w16 m=1 n=64 k=128 dtype=bf16 act=relu"), "");
  EXPECT_NE(reason("gemm_a16w16 m=1 n=64 k=128 dtype=bf16 bpreshuffle=1"), "");
  gpu.kind = "host";
  EXPECT_EQ(reason("gemm_a16w16 m=1 n=64 k=128 dtype=bf16"), "runs on an NVIDIA GPU only");
}

TEST(CublasSolver, IsNotTheDefaultWhereCublasltIsToo) {
  const Problem problem = Problem::parse("gemm_a16w16 m=1 n=64 k=128 dtype=bf16");
  const FamilySpec& family = op_of(problem).family();
  EXPECT_TRUE(comes_before(family, "cublaslt.gemm", "cublas.gemm"));
  EXPECT_TRUE(comes_before(family, "cublaslt.gemm", "jit_cuda.gemm"));
}

}  // namespace
}  // namespace attune
