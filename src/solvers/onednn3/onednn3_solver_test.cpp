// SPDX-License-Identifier: MIT
// onednn/onednn_solver_test.cpp tests the behaviour common to both versions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/opened_solver.h"

namespace attune {
namespace {

class Onednn3 : public testing::Test {
 protected:
  void SetUp() override {
    if (!newer_.unavailable().empty()) GTEST_SKIP() << newer_.unavailable();
  }
  OpenedSolver newer_{"onednn3.gemm"};
};

TEST_F(Onednn3, LivesBesideVersion2InOneProcess) {
  OpenedSolver older("onednn.gemm");
  if (!older.unavailable().empty()) GTEST_SKIP() << older.unavailable();
  EXPECT_THAT(older.backend().versions().at("onednn.gemm"), testing::StartsWith("1+2."));
  EXPECT_THAT(newer_.backend().versions().at("onednn3.gemm"), testing::StartsWith("1+3."));
  const std::string problem = "gemm_a16w16 m=8 n=16 k=32 dtype=fp32 bias=1";
  for (OpenedSolver* solver : {&older, &newer_, &older}) {
    const auto default_config = solver->backend().default_config(solver->problem(problem));
    EXPECT_EQ(solver->wrong(problem, default_config.key()), "");
  }
}

}  // namespace
}  // namespace attune
