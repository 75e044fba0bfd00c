// SPDX-License-Identifier: MIT
#include "measure/comparison/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/convert.h"

namespace attune {
namespace {

constexpr Tolerance kTolerance = {.rtol = 1e-3, .atol = 1e-3, .max_relative = 1e-5, .max_cosine = 1e-6};

OutputComparison compare_as(DType dtype, const std::vector<float>& got, const Reference::Numbers& want,
                            double scale = 1) {
  std::vector<std::byte> stored(got.size() * static_cast<size_t>(bits(dtype)) / 8);
  from_float(dtype, got, stored.data());
  return compare(dtype, stored, {want, Reference::Numbers(want.size(), scale)}, 2, kTolerance);
}

TEST(Compare, EqualArraysHaveNoErrors) {
  EXPECT_EQ(compare_as(DType::fp32, {1, -2, 3, 0}, {1, -2, 3, 0}).errors, Errors{});
  EXPECT_EQ(compare_as(DType::fp32, {0, 0}, {0, 0}).errors, Errors{});
}

TEST(Compare, CountsWhatIsOutsideTheTolerance) {
  const auto found = compare_as(DType::fp32, {1.0005f, 2, 3.5f, 0}, {1, 2, 3, 0});
  EXPECT_DOUBLE_EQ(found.errors.mismatch_ratio, 0.25);
  EXPECT_EQ(found.worst.row, 1);
  EXPECT_EQ(found.worst.column, 0);
  EXPECT_DOUBLE_EQ(found.worst.want, 3);
}

TEST(Compare, JudgesErrorsByTheScaleOfTheDotProduct) {
  EXPECT_NEAR(compare_as(DType::fp32, {0.5f, 2}, {0, 2}, 10).errors.max_relative, 0.05, 1e-6);
}

TEST(Compare, RoundingToTheOutputsTypeIsNoError) {
  // bf16 stores 1000.3 as 1000: off by 0.3, which rounding explains. It does not explain 1008, which is two steps away.
  EXPECT_EQ(compare_as(DType::bf16, {1000.3f, 1}, {1000.3, 1}).errors.max_relative, 0);
  EXPECT_GT(compare_as(DType::bf16, {1008, 1}, {1000.3, 1}).errors.max_relative, 3);
}

TEST(Compare, KnowsHowEveryTypeRounds) {
  for (const DType dtype : {DType::e4m3fn, DType::e4m3fnuz, DType::e5m2, DType::e5m2fnuz, DType::int8, DType::int32}) {
    EXPECT_EQ(compare_as(dtype, {100.4f, 0.4f}, {100.4, 0.4}).errors.max_relative, 0) << name(dtype);
    EXPECT_GT(compare_as(dtype, {64, 1}, {100.4, 1}).errors.max_relative, 10) << name(dtype);
  }
  EXPECT_EQ(compare_as(DType::e4m3fn, {1e6f, 1}, {1e6, 1}).num_non_finite, 0u);
  EXPECT_EQ(compare_as(DType::e4m3fn, {1e6f, 1}, {440, 1}).num_non_finite, 1u);
}

TEST(Compare, TellsLargeWholeNumbersApart) {
  const int32_t got[] = {2147483600, 2147483601};
  const auto bytes = std::as_bytes(std::span(got));
  const Reference reference{{2147483600, 2147483600}, {1, 1}};
  EXPECT_EQ(compare(DType::int32, bytes, reference, 2, {.max_relative = 1}).errors.mismatch_ratio, 0.5);
}

TEST(Compare, FindsTheFirstNonFiniteElement) {
  const auto found =
      compare_as(DType::fp32, {1, 2, std::numeric_limits<float>::infinity(), std::nanf("")}, {1, 2, 3, 4});
  EXPECT_EQ(found.num_non_finite, 2u);
  ASSERT_TRUE(found.non_finite);
  EXPECT_EQ(found.non_finite->row, 1);
  EXPECT_EQ(found.non_finite->column, 0);
  EXPECT_DOUBLE_EQ(found.errors.mismatch_ratio, 0.5);
}

TEST(Compare, AValueBeyondTheTypeMayBeInfinite) {
  EXPECT_EQ(compare_as(DType::fp16, {1e6f, 1}, {1e6, 1}).num_non_finite, 0u);
  EXPECT_EQ(compare_as(DType::fp16, {1e6f, 1}, {1e4, 1}).num_non_finite, 1u);
}

TEST(Compare, AnElementIsNotANumberExactlyWhereTheReferenceIsNone) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(compare_as(DType::fp32, {NAN, 1}, {kNan, 1}).num_non_finite, 0u);
  EXPECT_EQ(compare_as(DType::fp32, {0, 1}, {kNan, 1}).num_non_finite, 1u);
  EXPECT_EQ(compare_as(DType::fp32, {INFINITY, 1}, {kNan, 1}).num_non_finite, 1u);
  EXPECT_EQ(compare_as(DType::fp32, {NAN, 1}, {1e40, 1}).num_non_finite, 1u);
}

TEST(Compare, AnElementIsTheInfinityOfTheReference) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double sign : {1.0, -1.0}) {
    const auto signed_infinity = static_cast<float>(sign * kInfinity);
    EXPECT_EQ(compare_as(DType::bf16, {signed_infinity, 1}, {sign * kInfinity, 1}).num_non_finite, 0u);
    EXPECT_EQ(compare_as(DType::bf16, {-signed_infinity, 1}, {sign * kInfinity, 1}).num_non_finite, 1u);
    EXPECT_EQ(compare_as(DType::bf16, {3e38f, 1}, {sign * kInfinity, 1}).num_non_finite, 1u);
  }
}

TEST(Compare, WhatOverflowsTheTypeIsInfiniteAndCloseBelowItMayBe) {
  EXPECT_EQ(compare_as(DType::fp16, {65504, 1}, {7e4, 1}).num_non_finite, 1u) << "a finite number is too small";
  EXPECT_EQ(compare_as(DType::fp16, {INFINITY, 1}, {65500, 1}).num_non_finite, 0u);
  EXPECT_EQ(compare_as(DType::fp16, {65504, 1}, {65500, 1}).num_non_finite, 0u);
  EXPECT_EQ(compare_as(DType::fp16, {INFINITY, 1}, {6e4, 1}).num_non_finite, 1u);
  EXPECT_EQ(compare_as(DType::fp32, {-INFINITY, 1}, {-3.5e38, 1}).num_non_finite, 0u);
  EXPECT_EQ(compare_as(DType::fp32, {INFINITY, 1}, {-3.5e38, 1}).num_non_finite, 1u);
}

TEST(Compare, LeavesOutWhatTheReferenceDoesNotDefine) {
  EXPECT_EQ(compare_as(DType::fp32, {NAN, 5}, {0, 0}, -1).errors, Errors{});
}

TEST(Compare, TheCosineSeesAPermutation) {
  EXPECT_NEAR(compare_as(DType::fp32, {0, 1}, {1, 0}).errors.cosine, 1, 1e-12);
  EXPECT_NEAR(compare_as(DType::fp32, {2, 4}, {1, 2}).errors.cosine, 0, 1e-12) << "not a scale";
  EXPECT_EQ(compare_as(DType::fp32, {0, 0}, {1, 2}).errors.cosine, 1);
}

TEST(Compare, AnErrorWhereTheScaleIsZeroIsInfinite) {
  EXPECT_TRUE(std::isinf(compare_as(DType::fp32, {1, 0}, {0, 0}, 0).errors.max_relative));
}

TEST(Compare, AnErrorOfAnElementWithoutScaleIsNotForgotten) {
  for (const DType dtype : {DType::fp32, DType::bf16}) {
    const auto found = compare_as(dtype, {1, 0, 0}, {0, 0, 0}, 0);
    EXPECT_EQ(found.errors.max_relative, std::numeric_limits<double>::infinity());
    EXPECT_EQ(found.worst.got, 1) << "what follows is right, and has no scale either";
  }
}

/// Adds up parts of every n-th element, as blocks of threads make them.
TEST(Compare, PartsAddUpToTheWhole) {
  const ElementBounds bounds = element_bounds(DType::fp32, kTolerance);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<double> got = {1, kInfinity, 3, 4.5, -5, 6, 4.5, -kInfinity, 9},
                            want = {1, 2, 3, 4, -5, 6, 4, 8, 9};
  ComparisonPart whole{};
  for (size_t i = 0; i < got.size(); ++i) add(whole, bounds, static_cast<int64_t>(i), got[i], want[i], 1);
  EXPECT_EQ(whole.worst, 3) << "6 errs as much, and comes later";
  EXPECT_EQ(whole.first_non_finite, 1);
  for (const size_t num_parts : {2u, 3u, 4u, 12u}) {
    std::vector<ComparisonPart> parts(num_parts);
    for (size_t i = 0; i < got.size(); ++i)
      add(parts[i % num_parts], bounds, static_cast<int64_t>(i), got[i], want[i], 1);
    for (const bool is_reversed : {false, true}) {
      ComparisonPart all{};
      if (is_reversed) std::ranges::reverse(parts);
      for (const ComparisonPart& part : parts) add(all, part);
      EXPECT_EQ(all.num_mismatches, whole.num_mismatches);
      EXPECT_EQ(all.num_non_finite, 2u);
      EXPECT_EQ(all.first_non_finite, 1);
      EXPECT_EQ(all.max_relative, whole.max_relative);
      EXPECT_EQ(all.worst, 3) << num_parts << is_reversed;
      EXPECT_NEAR(all.got_want, whole.got_want, 1e-9);
      EXPECT_NEAR(all.got_got, whole.got_got, 1e-9);
      EXPECT_NEAR(all.want_want, whole.want_want, 1e-9);
    }
  }
}

}  // namespace
}  // namespace attune
