// SPDX-License-Identifier: MIT
#include "tensor/convert.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "attune/error.h"
#include "attune/tensor.h"

namespace attune {

TEST(Convert, Bf16RoundsToNearestEven) {
  EXPECT_EQ(from_bf16(to_bf16(1.0f)), 1.0f);
  EXPECT_EQ(from_bf16(to_bf16(1.0f + 0x1p-8f)), 1.0f);              // tie: to even
  EXPECT_EQ(from_bf16(to_bf16(1.0f + 0x1.8p-7f)), 1.0f + 0x1p-6f);  // tie: to even, upwards
  EXPECT_TRUE(std::isnan(from_bf16(to_bf16(std::numeric_limits<float>::quiet_NaN()))));
  EXPECT_TRUE(std::isinf(from_bf16(to_bf16(std::numeric_limits<float>::max()))));
}

TEST(Convert, ArraysComeBackWithinTheUnitRoundoff) {
  // The last two lie just above the middle of two neighbours in bf16 and in fp16: truncation would have a larger error.
  const std::vector<float> values = {0.0f, -1.5f, 3.14159f, 1e-3f, -1000.25f, 1 + 0x1.1p-8f, 1 + 0x1.1p-11f};
  for (const DType dtype : {DType::fp64, DType::fp32, DType::bf16, DType::fp16}) {
    std::vector<std::byte> stored(values.size() * 8);
    std::vector<float> back(values.size());
    from_float(dtype, values, stored.data());
    to_float(dtype, stored.data(), back);
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_LE(std::abs(back[i] - values[i]), unit_roundoff(dtype) * std::abs(values[i])) << name(dtype);
  }
}

TEST(Convert, RefusesATypeItCannotHold) {
  std::vector<float> value(1);
  std::byte stored[8];
  EXPECT_THROW(from_float(DType::int8, value, stored), Error);
}

TEST(TensorSpec, CountsSubByteRowsInWholeBytes) {
  EXPECT_EQ((TensorSpec{.dtype = DType::e2m1, .shape = {3, 5}}).bytes(), 9u);
  EXPECT_EQ((TensorSpec{.dtype = DType::bf16, .shape = {3, 5}}).bytes(), 30u);
  EXPECT_EQ((TensorSpec{.dtype = DType::fp32, .shape = {0, 5}}).bytes(), 0u);
}

}  // namespace attune
