// SPDX-License-Identifier: MIT
// ml_dtypes checks the numbers in python/tests/test_quantise.py; here is what the functions promise besides.
#include "attune/quantise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "attune/error.h"

namespace attune {
namespace {

using testing::ElementsAre;

std::vector<int> codes(std::span<const std::byte> bytes) {
  std::vector<int> all;
  for (const std::byte one : bytes) all.push_back(static_cast<int8_t>(one));
  return all;
}

TEST(Quantise, RoundsToEvenOverTheScaleOfARow) {
  const std::array<float, 8> values = {127, 0.5f, 1.5f, -2.5f, 0, 0, 0, 0};
  std::array<std::byte, 8> elements{};
  std::array<float, 2> scales{};
  quantise_rows(DType::int8, 2, 4, values, elements, scales);
  EXPECT_THAT(codes(elements), ElementsAre(127, 0, 2, -2, 0, 0, 0, 0));
  EXPECT_THAT(scales, ElementsAre(1, 1)) << "a row of zeros has the scale 1";
}

TEST(Quantise, OneScaleIsOfTheMatrixAndInfinitySaturates) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::array<float, 4> values = {448, -infinity, 224, infinity};
  std::array<std::byte, 4> elements{};
  float scale = 0;
  quantise_tensor(DType::e4m3fn, 2, 2, values, elements, scale);
  EXPECT_EQ(scale, 1);
  std::array<float, 4> again{};
  dequantise({.rows = 2, .k = 2, .group_rows = 0}, elements, std::as_bytes(std::span(&scale, 1)), again);
  EXPECT_THAT(again, ElementsAre(448, -448, 224, 448));
}

TEST(Quantise, PartialBlocksHaveTheirOwnScales) {
  std::vector<float> values(3 * 3);
  for (size_t i = 0; i < values.size(); ++i) values[i] = 127.0f * static_cast<float>(i + 1);
  std::vector<std::byte> elements(9);
  std::vector<float> scales(4);
  quantise_blocks(DType::int8, 3, 3, 2, 2, values, elements, scales);
  EXPECT_THAT(scales, ElementsAre(5, 6, 8, 9));
}

TEST(Quantise, ABlockLargerThanTheMatrixIsTheMatrix) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  const std::array<float, 2> values = {127, -254};
  std::array<std::byte, 2> elements{};
  std::array<float, 1> scales{};
  std::array<float, 2> again{};
  quantise_blocks(DType::int8, 1, 2, kMax, kMax, values, elements, scales);
  EXPECT_THAT(scales, ElementsAre(2));
  const QuantisedMatrix how{.dtype = DType::int8, .rows = 1, .k = 2, .group_rows = kMax, .group_depth = kMax};
  dequantise(how, elements, std::as_bytes(std::span(scales)), again);
  EXPECT_EQ(again[1], -254);
  EXPECT_THROW(dequantise(how, elements, {}, again), Error);
}

TEST(Quantise, ThePowerOfMxfp4FloorsOrLetsNothingSaturate) {
  const std::array<float, 3> values = {7, -3.5f, 0.25f};  // 7 is above 6 · 2^0.
  std::array<std::byte, 2> elements{};
  std::array<std::byte, 1> scales{};
  std::array<float, 3> again{};
  const QuantisedMatrix how{.dtype = DType::e2m1, .scale = DType::e8m0, .rows = 1, .k = 3, .group_depth = 32};
  quantise_mxfp4(1, 3, ExponentRounding::floor, values, elements, scales);
  dequantise(how, elements, scales, again);
  EXPECT_EQ(scales[0], std::byte{127});
  EXPECT_THAT(again, ElementsAre(6, -4, 0));
  quantise_mxfp4(1, 3, ExponentRounding::rceil, values, elements, scales);
  dequantise(how, elements, scales, again);
  EXPECT_EQ(scales[0], std::byte{128});
  EXPECT_THAT(again, ElementsAre(8, -4, 0));
}

TEST(Quantise, ANanOfMxfp4IsInTheScaleOfItsGroup) {
  std::vector<float> values(64, 1.0f);
  values[40] = std::numeric_limits<float>::quiet_NaN();
  std::vector<std::byte> elements(32), scales(2);
  quantise_mxfp4(1, 64, ExponentRounding::floor, values, elements, scales);
  EXPECT_THAT(scales, ElementsAre(std::byte{125}, std::byte{255}));
}

TEST(Quantise, TinyAndHugeGroupsKeepTheirRatio) {
  const std::array<float, 2> values = {std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::max()};
  std::array<std::byte, 2> elements{};
  std::array<float, 2> scales{};
  quantise_rows(DType::e4m3fn, 2, 1, values, elements, scales);
  EXPECT_GT(scales[0], 0);
  EXPECT_TRUE(std::isfinite(scales[1]));
}

TEST(Quantise, RefusesOtherTypesAndSizes) {
  std::vector<float> values(4), scales(2);
  std::vector<std::byte> elements(4);
  EXPECT_THROW(quantise_rows(DType::bf16, 2, 2, values, elements, scales), Error);
  EXPECT_THROW(quantise_rows(DType::e2m1, 2, 2, values, elements, scales), Error);
  EXPECT_THROW(quantise_rows(DType::int8, 2, 3, values, elements, scales), Error);
  EXPECT_THROW(quantise_rows(DType::int8, 2, 2, values, elements, std::span(scales).first(1)), Error);
  EXPECT_THROW(quantise_rows(DType::int8, 0, 2, {}, {}, {}), Error);
  EXPECT_THROW(quantise_blocks(DType::int8, 2, 2, 0, 2, values, elements, scales), Error);
  EXPECT_THROW(
      dequantise({.scale = DType::bf16, .rows = 2, .k = 2}, elements, std::as_bytes(std::span(scales)), values), Error);
}

}  // namespace
}  // namespace attune
