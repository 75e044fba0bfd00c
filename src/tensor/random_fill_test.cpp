// SPDX-License-Identifier: MIT
#include "tensor/random_fill.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "attune/error.h"
#include "base/hash.h"
#include "tensor/convert.h"
#include "tensor/rounding.h"

namespace attune {
namespace {

constexpr size_t kCount = 4096;

std::vector<double> numbers(DType dtype, const std::vector<std::byte>& stored) {
  std::vector<double> values(kCount);
  to_double(dtype, stored.data(), values);
  return values;
}

TEST(RandomFill, DataOfTheWideTypesNeverChanges) {
  std::vector<std::byte> stored(kCount * 4);
  fill_normal(DType::fp32, 7, stored);
  EXPECT_EQ(hash128(std::span<const std::byte>(stored)).hex(), "b62feefd917416588679e77978acbd95");
  fill_integers(DType::bf16, 7, 4, std::span(stored).first(kCount * 2));
  EXPECT_EQ(hash128(std::span<const std::byte>(stored).first(kCount * 2)).hex(), "cacb095551a36551e8a8a2662d3e55ed");
}

TEST(RandomFill, ALargeTensorBeginsLikeASmallOneAndItsNumbersDependOnTheirPlacesAlone) {
  for (const DType dtype : {DType::bf16, DType::int4}) {
    const size_t count = (size_t{1} << 20) + 4098, small = (size_t{1} << 20) - 6;
    std::vector<std::byte> large(stored_bytes(bits(dtype), count)), begin(stored_bytes(bits(dtype), small));
    fill_integers(dtype, 7, 4, large);
    fill_integers(dtype, 7, 4, begin);
    EXPECT_TRUE(std::equal(begin.begin(), begin.end(), large.begin())) << name(dtype);
    std::vector<std::byte> longer(stored_bytes(bits(dtype), 2 * count));
    fill_integers(dtype, 7, 4, longer);
    EXPECT_TRUE(std::equal(large.begin(), large.end(), longer.begin())) << name(dtype);
  }
}

TEST(RandomFill, UsesTheRangeOfANarrowTypeUpToItsEnds) {
  for (const DType dtype :
       {DType::int8, DType::int4, DType::e4m3fn, DType::e4m3fnuz, DType::e5m2, DType::e5m2fnuz, DType::e2m1}) {
    std::vector<std::byte> stored(stored_bytes(bits(dtype), kCount));
    fill_normal(dtype, 3, stored);
    const auto values = numbers(dtype, stored);
    const Rounding& rounding = Rounding::of(dtype);
    EXPECT_EQ(values[0], rounding.largest) << name(dtype);
    EXPECT_EQ(values[1], 2 * rounding.step) << name(dtype);
    EXPECT_EQ(values[kCount - 2], -2 * rounding.step) << name(dtype);
    EXPECT_EQ(values[kCount - 1], -rounding.largest) << name(dtype);
    double sum = 0;
    for (size_t i = 2; i + 2 < kCount; ++i) {
      ASSERT_TRUE(std::isfinite(values[i])) << name(dtype) << ' ' << i;
      sum += values[i];
    }
    const double deviation = dtype == DType::int8 ? 32 : dtype == DType::int4 ? 2 : dtype == DType::e2m1 ? 1.5 : 1;
    EXPECT_LT(std::abs(sum / kCount), deviation / 10) << name(dtype);
    std::vector<std::byte> again(stored.size()), other(stored.size());
    fill_normal(dtype, 3, again);
    fill_normal(dtype, 4, other);
    EXPECT_EQ(stored, again) << name(dtype);
    EXPECT_NE(stored, other) << name(dtype);
  }
}

TEST(RandomFill, WholeNumbersAreExactInEverySignedType) {
  for (int number = 0; number < kNumDTypes; ++number) {
    const auto dtype = static_cast<DType>(number);
    if (dtype == DType::e8m0) continue;
    std::vector<std::byte> stored(stored_bytes(bits(dtype), kCount)), wide(kCount * 8);
    fill_integers(dtype, 5, 4, stored);
    fill_integers(DType::fp64, 5, 4, wide);
    EXPECT_EQ(numbers(dtype, stored), numbers(DType::fp64, wide)) << name(dtype);
  }
}

TEST(RandomFill, ScalesArePositiveOverSeveralPowersOfTwo) {
  for (const DType dtype : {DType::fp32, DType::bf16, DType::fp16, DType::e8m0}) {
    std::vector<std::byte> stored(stored_bytes(bits(dtype), kCount));
    fill_scales(dtype, 9, ScaleValues::any, stored);
    const auto values = numbers(dtype, stored);
    EXPECT_EQ(values.front(), 0x1p-6) << name(dtype);
    EXPECT_EQ(values.back(), 0x1p5) << name(dtype);
    EXPECT_EQ(*std::min_element(values.begin(), values.end()), 0x1p-6) << name(dtype);
    const auto is_between = [&](double low, double high) {
      return std::count_if(values.begin(), values.end(), [=](double value) { return value >= low && value < high; });
    };
    for (int power = -4; power < 4; ++power)
      EXPECT_GT(is_between(std::ldexp(1.0, power), std::ldexp(1.0, power + 1)), 200) << name(dtype) << ' ' << power;
    fill_scales(dtype, 9, ScaleValues::exact, stored);
    for (const double value : numbers(dtype, stored))
      ASSERT_TRUE(value == 0.5 || value == 1 || value == 2) << name(dtype);
  }
}

TEST(RandomFill, RefusesSignedDataOfATypeWithoutASign) {
  std::vector<std::byte> stored(16);
  EXPECT_THROW(fill_normal(DType::e8m0, 1, stored), Error);
  EXPECT_THROW(fill_integers(DType::e8m0, 1, 4, stored), Error);
  EXPECT_THROW(fill_scales(DType::int8, 1, ScaleValues::any, stored), Error);
}

TEST(RandomFill, UniformNumbersFillTheirRangeEvenly) {
  std::vector<float> values(100'000);
  fill_tensor({.values = TensorFill::Values::uniform, .seed = 3}, std::as_writable_bytes(std::span(values)));
  const auto [least, greatest] = std::ranges::minmax(values);
  EXPECT_GE(least, -0.5f);
  EXPECT_LT(greatest, 0.5f);
  EXPECT_LT(least, -0.499f);
  EXPECT_GT(greatest, 0.499f);
  double sum = 0, squares = 0;
  for (const float value : values) sum += value, squares += value * value;
  EXPECT_NEAR(sum / 1e5, 0, 0.005);
  EXPECT_NEAR(squares / 1e5, 1.0 / 12, 0.001);
}

TEST(RandomFill, SinesAreThoseOfThePlaces) {
  std::vector<float> values(100'000);
  fill_tensor({.values = TensorFill::Values::sine}, std::as_writable_bytes(std::span(values)));
  for (size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(values[i], std::sin(static_cast<double>(i)), 4e-6) << i;
  for (const uint64_t place : {uint64_t{1} << 31, (uint64_t{1} << 40) - 1})
    EXPECT_NEAR(sine_value(place), std::sin(static_cast<double>(place)), 4e-6) << place;
}

}  // namespace
}  // namespace attune
