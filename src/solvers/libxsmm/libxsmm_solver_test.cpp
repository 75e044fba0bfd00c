// SPDX-License-Identifier: MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/opened_solver.h"

namespace attune {
namespace {

using testing::HasSubstr;

class LibxsmmSolver : public testing::Test {
 protected:
  void SetUp() override {
    if (!libxsmm_.unavailable().empty()) GTEST_SKIP() << libxsmm_.unavailable();
  }
  std::string unsupported(const std::string& problem) {
    return libxsmm_.solver().supports(libxsmm_.problem(problem), libxsmm_.device().info()).reason;
  }
  OpenedSolver libxsmm_{"libxsmm.gemm"};
};

TEST_F(LibxsmmSolver, MultipliesWithTilesThatDoNotDivideTheProduct) {
  for (const char* layout : {"", " bias=1", " trans_b=0", " trans_a=1", " trans_a=1 trans_b=0 bias=1"}) {
    const std::string problem = std::string("gemm_a16w16 m=37 n=45 k=67 dtype=fp32") + layout;
    for (const char* tiles :
         {"tile_m=16;tile_n=16;tile_k=32", "tile_m=37;tile_n=45;tile_k=67", "tile_m=10;tile_n=32;tile_k=67"}) {
      EXPECT_EQ(libxsmm_.wrong(problem, std::string(tiles) + ";threads=1"), "");
    }
  }
}

TEST_F(LibxsmmSolver, IsRightBeyondTheSizeAtWhichItsRoutinesCallABlas) {
  EXPECT_EQ(libxsmm_.wrong("gemm_a16w16 m=70 n=130 k=300 dtype=fp32", "tile_m=70;tile_n=64;tile_k=256;threads=1"), "");
}

TEST_F(LibxsmmSolver, MultipliesBf16InPairs) {
  if (!libxsmm_.device().info().instruction_sets().has(InstructionSet::avx512_bf16))
    GTEST_SKIP() << "this CPU has no AVX512-BF16";
  EXPECT_EQ(libxsmm_.wrong("gemm_a16w16 m=19 n=45 k=70 dtype=bf16 bias=1", "tile_m=16;tile_n=32;tile_k=70;threads=1"),
            "");
  EXPECT_EQ(libxsmm_.wrong("gemm_a16w16 m=19 n=45 k=70 dtype=bf16 outdtype=fp32 bias=1",
                           "tile_m=16;tile_n=32;tile_k=16;threads=1"),
            "");
  EXPECT_THAT(
      libxsmm_.refusal("gemm_a16w16 m=4 n=4 k=70 dtype=bf16 outdtype=fp32", "tile_m=4;tile_n=4;tile_k=35;threads=1"),
      HasSubstr("must be even"));
  EXPECT_THAT(libxsmm_.refusal("gemm_a16w16 m=4 n=4 k=70 dtype=bf16", "tile_m=4;tile_n=4;tile_k=16;threads=1"),
              HasSubstr("needs the whole k=70"));
}

TEST_F(LibxsmmSolver, SaysWhatItLeavesToOthers) {
  EXPECT_THAT(unsupported("gemm_a16w16 m=1024 n=1024 k=1024 dtype=fp32"), HasSubstr("small products only"));
  EXPECT_THAT(unsupported("gemm_a16w16 m=4 n=4 k=4 dtype=fp16"), HasSubstr("does not support fp16"));
  EXPECT_NE(unsupported("gemm_a16w16 m=4 n=4 k=5 dtype=bf16"), "");
  EXPECT_NE(unsupported("gemm_a16w16 m=4 n=4 k=4 dtype=bf16 trans_b=0"), "");
  EXPECT_EQ(unsupported("gemm_a16w16 m=512 n=512 k=512 dtype=fp32"), "");
}

TEST_F(LibxsmmSolver, RefusesATileOutsideTheProduct) {
  EXPECT_THAT(libxsmm_.refusal("gemm_a16w16 m=4 n=4 k=4 dtype=fp32", "tile_m=5;tile_n=4;tile_k=4;threads=1"),
              HasSubstr("must fit inside"));
  EXPECT_NE(libxsmm_.refusal("gemm_a16w16 m=4 n=4 k=4 dtype=fp32", "tile_m=4;tile_n=0;tile_k=4;threads=1"), "");
}

TEST_F(LibxsmmSolver, OffersNoTileTwice) {
  for (const char* problem : {"gemm_a16w16 m=16 n=32 k=256 dtype=fp32", "gemm_a16w16 m=1 n=1 k=1 dtype=fp32",
                              "gemm_a16w16 m=200 n=300 k=1500 dtype=fp32"}) {
    const auto space = libxsmm_.backend().space(libxsmm_.problem(problem));
    EXPECT_TRUE(space.index_of(libxsmm_.backend().default_config(libxsmm_.problem(problem)))) << problem;
  }
}

}  // namespace
}  // namespace attune
