// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/opened_solver.h"

namespace attune {
namespace {

class PortableQuantised : public testing::TestWithParam<const char*> {
 protected:
  OpenedSolver portable_{"portable.gemm_a8w8"};
};

TEST_P(PortableQuantised, BlocksComputeEveryRemainderTypeAndScale) {
  for (const int m : {1, 2, 3, 4, 5, 7}) {
    for (const int n : {1, 3, 4, 5, 9}) {
      for (const int k : {1, 31, 64, 101}) {
        const auto problem = fmt::format("gemm_a8w8 m={} n={} k={} bias={} outdtype={} scale={}", m, n, k, m % 2,
                                         n % 2 == 0 ? "bf16" : "fp16", k % 2 == 0 ? "row" : "tensor");
        ASSERT_EQ(portable_.wrong(problem, std::string("block=") + GetParam()), "");
      }
    }
  }
}

TEST_P(PortableQuantised, BlocksComputeFloatsOfEightBits) {
  for (const char* type : {"e4m3fn", "e4m3fnuz"}) {
    for (const int m : {1, 4, 5}) {
      for (const int k : {1, 16, 37}) {
        const auto problem = fmt::format("gemm_a8w8 m={} n=9 k={} q_dtype_w={} bias={}", m, k, type, m % 2);
        ASSERT_EQ(portable_.wrong(problem, std::string("block=") + GetParam()), "");
      }
    }
  }
}

TEST_P(PortableQuantised, SumsOfManyProductsAreExact) {
  EXPECT_EQ(portable_.wrong("gemm_a8w8 m=2 n=5 k=262145", std::string("block=") + GetParam()), "");
}

INSTANTIATE_TEST_SUITE_P(All, PortableQuantised, testing::Values("1x4", "2x4", "4x4"),
                         [](const auto& instance) { return "Block" + std::string(instance.param); });

TEST(PortableQuantisedSolver, OffersItsThreeBlocksAndRefusesOthers) {
  OpenedSolver portable("portable.gemm_a8w8");
  EXPECT_EQ(portable.configs("gemm_a8w8 m=8 n=8 k=8").size(), 3u);
  EXPECT_THAT(portable.refusal("gemm_a8w8 m=8 n=8 k=8", "block=9x9"), testing::HasSubstr("'9x9'"));
}

}  // namespace
}  // namespace attune
