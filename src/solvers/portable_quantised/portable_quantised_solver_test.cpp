// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

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

TEST_P(PortableQuantised, BlocksComputeScalesOfBlocks) {
  OpenedSolver fp8("portable.gemm_a8w8_blockscale"), mxfp4("portable.gemm_a4w4_blockscale");
  for (const int m : {1, 4, 5}) {
    for (const int n : {3, 130}) {
      for (const int k : {1, 31, 33, 128, 129, 300}) {
        for (const char* out : {"bf16", "fp16"}) {
          const auto rest = fmt::format("m={} n={} k={} outdtype={}", m, n, k, out);
          const auto config = std::string("block=") + GetParam();
          const char* type = k % 2 == 0 ? "e4m3fn" : "e4m3fnuz";
          ASSERT_EQ(fp8.wrong(fmt::format("gemm_a8w8_blockscale {} q_dtype_w={}", rest, type), config), "");
          ASSERT_EQ(mxfp4.wrong("gemm_a4w4_blockscale " + rest, config), "");
        }
      }
    }
  }
}

/// The smallest and the largest scale of e8m0 meet, and neither side is lost.
TEST_P(PortableQuantised, ScalesThatCancelNeitherOverflowNorVanish) {
  OpenedSolver mxfp4("portable.gemm_a4w4_blockscale");
  for (const auto& [of_a, of_b] : {std::pair(0, 254), std::pair(254, 0)}) {
    const auto got = mxfp4.computed("gemm_a4w4_blockscale m=2 n=3 k=64", std::string("block=") + GetParam(),
                                    [&, a = of_a, b = of_b](const HostTensors& in) {
                                      std::ranges::fill(in.operands[0], std::byte{0x22});  // 1
                                      std::ranges::fill(in.operands[1], std::byte{0x22});
                                      std::ranges::fill(in.operands[2], static_cast<std::byte>(a));
                                      std::ranges::fill(in.operands[3], static_cast<std::byte>(b));
                                      in.operands[2][3] = std::byte{255};  // The second block of the second row.
                                    });
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(got[i], 64.0f);
    for (size_t i = 3; i < 6; ++i) EXPECT_TRUE(std::isnan(got[i]));
  }
}

TEST_P(PortableQuantised, SumsOfManyProductsAreExact) {
  EXPECT_EQ(portable_.wrong("gemm_a8w8 m=2 n=5 k=262145", std::string("block=") + GetParam()), "");
}

INSTANTIATE_TEST_SUITE_P(All, PortableQuantised, testing::Values("1x4", "2x4", "4x4"),
                         [](const auto& instance) { return "Block" + std::string(instance.param); });

TEST(PortableQuantisedSolver, ComputesOneFamilyEach) {
  OpenedSolver mxfp4("portable.gemm_a4w4_blockscale");
  const Support other =
      mxfp4.solver().supports(mxfp4.problem("gemm_a8w8_blockscale m=1 n=2 k=3"), mxfp4.device().info());
  EXPECT_EQ(other.reason, "computes gemm_a4w4_blockscale only");
  EXPECT_EQ(mxfp4.configs("gemm_a4w4_blockscale m=1 n=2 k=3 bpreshuffle=1").front().text("b_layout"), "plain");
}

TEST(PortableQuantisedSolver, OffersItsThreeBlocksAndRefusesOthers) {
  OpenedSolver portable("portable.gemm_a8w8");
  EXPECT_EQ(portable.configs("gemm_a8w8 m=8 n=8 k=8").size(), 3u);
  EXPECT_THAT(portable.refusal("gemm_a8w8 m=8 n=8 k=8", "block=9x9"), testing::HasSubstr("'9x9'"));
}

}  // namespace
}  // namespace attune
