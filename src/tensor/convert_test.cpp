// SPDX-License-Identifier: MIT
#include "tensor/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <tuple>
#include <vector>

#include "attune/tensor.h"
#include "tensor/rounding.h"

namespace attune {
namespace {

using testing::ElementsAre;

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
      EXPECT_LE(std::abs(back[i] - values[i]), Rounding::of(dtype).unit * std::abs(values[i])) << name(dtype);
  }
}

TEST(Convert, IntegersRoundToEvenAndSaturate) {
  const std::vector<float> values = {0.5f, 1.5f, -2.5f, 300, -300, std::numeric_limits<float>::quiet_NaN(), 3e9f};
  int8_t bytes[7];
  from_float(DType::int8, values, reinterpret_cast<std::byte*>(bytes));
  EXPECT_THAT(bytes, ElementsAre(0, 2, -2, 127, -128, 0, 127));
  int32_t words[7];
  from_float(DType::int32, values, reinterpret_cast<std::byte*>(words));
  EXPECT_THAT(words, ElementsAre(0, 2, -2, 300, -300, 0, 2147483647));
}

TEST(Convert, PutsTwoElementsOfFourBitsInAByteTheFirstInTheLowerHalf) {
  const std::vector<float> values = {1, -2, 7};
  for (const auto& [dtype, first, second] :
       {std::tuple(DType::int4, 0xe1, 0x07), std::tuple(DType::e2m1, 0xc2, 0x07)}) {
    std::byte stored[2];
    std::vector<float> back(3);
    from_float(dtype, values, stored);
    EXPECT_EQ(std::to_integer<int>(stored[0]), first) << name(dtype);
    EXPECT_EQ(std::to_integer<int>(stored[1]), second) << name(dtype);
    to_float(dtype, stored, back);
    EXPECT_THAT(back, ElementsAre(1, -2, dtype == DType::int4 ? 7 : 6));
  }
}

TEST(Convert, DoublesHoldEveryStoredNumber) {
  const double third = 1.0 / 3;
  const int32_t large = 2147483647;
  double value = 0;
  to_double(DType::fp64, reinterpret_cast<const std::byte*>(&third), std::span(&value, 1));
  EXPECT_EQ(value, third);
  to_double(DType::int32, reinterpret_cast<const std::byte*>(&large), std::span(&value, 1));
  EXPECT_EQ(value, 2147483647.0);
  std::vector<std::byte> halves(1500, std::byte{0x21});
  std::vector<double> many(3000);
  to_double(DType::int4, halves.data(), many);
  for (size_t i = 0; i < many.size(); ++i) ASSERT_EQ(many[i], i % 2 + 1) << i;
}

TEST(Rounding, BoundsTheErrorOfEveryType) {
  for (int number = 0; number < kNumDTypes; ++number) {
    const auto dtype = static_cast<DType>(number);
    const Rounding& rounding = Rounding::of(dtype);
    double worst_unit = 0;
    for (int i = 1; i < 20'000; ++i) {
      const auto value = static_cast<float>(std::min(6.0, rounding.largest) * i / 20'000);
      std::byte stored[8];
      double back = 0;
      from_float(dtype, std::span(&value, 1), stored);
      to_double(dtype, stored, std::span(&back, 1));
      const double error = std::abs(back - static_cast<double>(value));
      EXPECT_LE(error, std::max(rounding.unit * static_cast<double>(value), rounding.step))
          << name(dtype) << ' ' << value;
      worst_unit = std::max(worst_unit, error / static_cast<double>(value));
    }
    if (bits(dtype) < 32 && rounding.unit > 0) {
      EXPECT_GT(worst_unit, 0.8 * rounding.unit) << name(dtype);
    }
    float largest = 0;
    std::byte stored[8];
    const auto of_type = static_cast<float>(rounding.largest);
    from_float(dtype, std::span(&of_type, 1), stored);
    to_float(dtype, stored, std::span(&largest, 1));
    if (bits(dtype) <= 16 && dtype != DType::bf16) {
      EXPECT_EQ(largest, of_type) << name(dtype);
    }
  }
}

TEST(TensorSpec, CountsSubByteRowsInWholeBytes) {
  EXPECT_EQ((TensorSpec{.dtype = DType::e2m1, .shape = {3, 5}}).bytes(), 9u);
  EXPECT_EQ((TensorSpec{.dtype = DType::bf16, .shape = {3, 5}}).bytes(), 30u);
  EXPECT_EQ((TensorSpec{.dtype = DType::fp32, .shape = {0, 5}}).bytes(), 0u);
}

}  // namespace
}  // namespace attune
