// SPDX-License-Identifier: MIT
#include "solver/contender.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(Contenders, ACandidateOfALibraryHasItsVersion) {
  EXPECT_TRUE(is_of_library(Candidate::parse("onednn.gemm@1+2.6.3:impl=a")));
  EXPECT_FALSE(is_of_library(Candidate::parse("jit_cpu.gemm@2:rows=1")));
}

}  // namespace
}  // namespace attune
