// SPDX-License-Identifier: MIT
#include "core/candidate.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace attune {
namespace {

TEST(Candidate, TheNameReadsBackToTheSameCandidate) {
  for (const std::string name : {"jit_cuda.gemm@3:bk=64;bm=128", "onednn.gemm@1+2.6.3:", "a@1:part=[b@2:c=3]"}) {
    EXPECT_EQ(Candidate::parse(name).name(), name);
    EXPECT_EQ(Candidate::parse(Candidate::parse(name).name()), Candidate::parse(name));
  }
  const auto candidate = Candidate::parse("jit_cuda.gemm@3:bk=64;bm=128");
  EXPECT_EQ(candidate.solver, "jit_cuda.gemm");
  EXPECT_EQ(candidate.version, "3");
  EXPECT_EQ(candidate.config.integer("bm"), 128);
}

TEST(Candidate, TableCellsOfOlderToolsAreNone) {
  for (const std::string name : {"", "None", "auto", "_ZN5aiter39bf16gemm_fp32bf16_tn_64x64_splitk_cleanE", "a@",
                                 "@1:", "a@1", "a b@1:", "a@1:x", "a:1@b"}) {
    try {
      Candidate::parse(name);
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input) << name;
    }
  }
}

}  // namespace
}  // namespace attune
