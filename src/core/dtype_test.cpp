// SPDX-License-Identifier: MIT
#include "attune/dtype.h"

#include <gtest/gtest.h>

#include <array>

namespace attune {
namespace {

constexpr std::array kAll = {DType::fp64,   DType::fp32,     DType::bf16, DType::fp16,     DType::int32, DType::int8,
                             DType::e4m3fn, DType::e4m3fnuz, DType::e5m2, DType::e5m2fnuz, DType::e2m1,  DType::e8m0};

TEST(DType, EveryNameReadsBackToItsType) {
  for (const DType dtype : kAll) {
    EXPECT_EQ(parse_dtype(name(dtype)), dtype);
    EXPECT_EQ(parse_dtype(torch_name(dtype)), dtype);
    EXPECT_EQ(parse_dtype(torch_name(dtype).substr(6)), dtype);
  }
}

TEST(DType, SpellingsOfTablesAreRead) {
  EXPECT_EQ(parse_dtype(" torch.bfloat16\t"), DType::bf16);
  EXPECT_EQ(parse_dtype("f16"), DType::fp16);
  EXPECT_EQ(parse_dtype("i8"), DType::int8);
}

TEST(DType, AnEightBitFloatIsNeverGuessed) {
  for (const auto text : {"fp8", "float8", "e4m3", "torch.uint4", "", "BF16"}) EXPECT_FALSE(parse_dtype(text)) << text;
}

TEST(DType, SizesAreInBits) {
  EXPECT_EQ(bits(DType::e2m1), 4);
  EXPECT_EQ(bits(DType::e8m0), 8);
  EXPECT_EQ(bits(DType::bf16), 16);
  EXPECT_EQ(bits(DType::fp64), 64);
}

}  // namespace
}  // namespace attune
