// SPDX-License-Identifier: MIT
#include "ops/packed_weights.h"

#include <gtest/gtest.h>

namespace attune {
namespace {

TEST(PackedWeights, AGroupIsWhatRowsShare) {
  const Problem one = Problem::parse("gemm_a16w16 m=1 n=8 k=8 bpreshuffle=1");
  EXPECT_EQ(weight_group_of(one), weight_group_of(one.with("m", "512")));
  EXPECT_NE(weight_group_of(one), weight_group_of(one.with("n", "9")));
  const Problem experts = Problem::parse("fmoe token=1 m=2");
  EXPECT_NE(weight_group_of(experts), weight_group_of(experts.with("m", "3"))) << "a family without rows";
}

TEST(PackedWeights, TheFamilySaysWhetherThereAreAny) {
  EXPECT_TRUE(has_packed_weights(Problem::parse("gemm_a16w16 m=1 n=8 k=8 bpreshuffle=1")));
  EXPECT_FALSE(has_packed_weights(Problem::parse("gemm_a16w16 m=1 n=8 k=8 bpreshuffle=0")));
  EXPECT_FALSE(has_packed_weights(Problem::parse("gemm_a16w16 m=1 n=8 k=8")));
  EXPECT_TRUE(has_packed_weights(Problem::parse("gemm_a8w8_bpreshuffle m=1 n=8 k=8")));
  EXPECT_FALSE(has_packed_weights(Problem::parse("gemm_a8w8 m=1 n=8 k=8 bpreshuffle=1")));
  EXPECT_FALSE(has_packed_weights(Problem::parse("unknown m=1 bpreshuffle=1")));
}

}  // namespace
}  // namespace attune
