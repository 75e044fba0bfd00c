// SPDX-License-Identifier: MIT
#include "campaign/default_notices.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

Decision decision(const char* type, Verdict verdict) {
  Decision one;
  one.problem = Problem::parse(std::string("gemm_a16w16 m=4 n=8 k=16 bias=0 dtype=") + type + " outdtype=" + type);
  one.device_id = "cpu:0";
  one.verdict = verdict;
  return one;
}

TEST(DefaultNotices, NameThePackageWhoseSolverIsMissingOnceForAType) {
  const Registry no_solvers;
  const std::vector<Decision> decisions = {decision("bf16", Verdict::no_default), decision("fp16", Verdict::no_default),
                                           decision("bf16", Verdict::no_default), decision("fp32", Verdict::faster)};
  EXPECT_EQ(default_notices(decisions, no_solvers),
            (std::vector<std::string>{"no library serves bf16 on cpu:0; libdnnl-dev does",
                                      "no library serves fp16 on cpu:0"}));
}

}  // namespace
}  // namespace attune
