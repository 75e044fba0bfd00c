// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/epilogue.h"
#include "testing/opened_solver.h"

namespace attune {
namespace {

class Portable : public testing::TestWithParam<const char*> {
 protected:
  OpenedSolver portable_{"portable.gemm"};
};

TEST_P(Portable, BlocksComputeEveryRemainder) {
  // A block has up to 4 rows, 4 columns and 16 terms; the extents lie around one and two blocks.
  for (const int m : {1, 2, 3, 4, 5, 7}) {
    for (const int n : {1, 3, 4, 5, 9}) {
      for (const int k : {1, 15, 16, 17, 33}) {
        const auto problem = fmt::format("gemm_a16w16 m={} n={} k={} dtype=fp32 bias={}", m, n, k, m % 2);
        ASSERT_EQ(portable_.wrong(problem, std::string("block=") + GetParam()), "");
      }
    }
  }
}

TEST_P(Portable, BlocksComputeEveryType) {
  for (const char* types : {"dtype=fp32", "dtype=bf16", "dtype=bf16 outdtype=fp32", "dtype=fp16",
                            "dtype=fp16 outdtype=fp32", "dtype=bf16 bias=1", "dtype=fp16 bias=1"}) {
    EXPECT_EQ(portable_.wrong(std::string("gemm_a16w16 m=5 n=7 k=37 ") + types, std::string("block=") + GetParam()),
              "");
  }
}

TEST_P(Portable, BlocksComputeEveryEpilogue) {
  for (const char* types : {"dtype=fp32", "dtype=bf16 bias=1", "dtype=fp16 outdtype=fp32 bias=1"}) {
    for (const std::string_view act : kActivations) {
      for (const char* factors :
           {"", " alpha=any", " beta=1", " alpha=0 beta=any", " alpha=any beta=any out_scale=1"}) {
        const auto text = fmt::format("gemm_a16w16 m=5 n=7 k=37 {} act={}{}", types, act, factors);
        EXPECT_EQ(portable_.wrong(text, std::string("block=") + GetParam()), "");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, Portable, testing::Values("1x4", "2x4", "4x4"),
                         [](const auto& instance) { return "Block" + std::string(instance.param); });

TEST(PortableSolver, OffersItsThreeBlocksAndRefusesOthers) {
  OpenedSolver portable("portable.gemm");
  EXPECT_EQ(portable.configs("gemm_a16w16 m=8 n=8 k=8 dtype=fp32").size(), 3u);
  EXPECT_THAT(portable.refusal("gemm_a16w16 m=8 n=8 k=8 dtype=fp32", "block=9x9"), testing::HasSubstr("'9x9'"));
}

TEST(PortableSolver, LeavesTransposedOperandsToOthers) {
  OpenedSolver portable("portable.gemm");
  for (const char* layout : {"trans_a=1", "trans_b=0"}) {
    const auto problem = portable.problem(std::string("gemm_a16w16 m=8 n=8 k=8 dtype=fp32 ") + layout);
    EXPECT_FALSE(portable.solver().supports(problem, portable.device().info()).yes) << layout;
  }
}

}  // namespace
}  // namespace attune
