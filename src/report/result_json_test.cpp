// SPDX-License-Identifier: MIT
#include "report/result_json.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(RepeatCommand, OfASolverWithoutParametersNamesNoConfig) {
  const Problem problem = Problem::parse("gemm_a16w16 m=1 n=2 k=3");
  EXPECT_EQ(repeat_command(problem, {"s.gemm", "1", Config::parse("x=1")}, "--devices fake:0"),
            "attune bench \"gemm_a16w16 m=1 n=2 k=3\" --solver s.gemm --config \"x=1\" --devices fake:0");
  EXPECT_EQ(repeat_command(problem, {"s.gemm", "1", {}}, "--devices fake:0"),
            "attune bench \"gemm_a16w16 m=1 n=2 k=3\" --solver s.gemm --devices fake:0");
}

}  // namespace
}  // namespace attune
