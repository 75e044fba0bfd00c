// SPDX-License-Identifier: MIT
#include "measure/bitwise/row_axis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace attune {
namespace {

using ::testing::Contains;
using ::testing::Not;

TensorSpec tensor(std::vector<int64_t> shape) {
  TensorSpec spec;
  spec.dtype = DType::int8;
  spec.shape = std::move(shape);
  return spec;
}

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

TEST(ProbedRows, HaveOneRowMoreThanATileAndTwiceAsManyButNotTheSame) {
  for (const int64_t m : {1, 2, 3, 16, 37, 512}) {
    EXPECT_THAT(probed_rows(m), Contains(2 * m));
    EXPECT_THAT(probed_rows(m), Not(Contains(m)));
    EXPECT_GE(probed_rows(m).size(), 4u);
  }
  EXPECT_THAT(probed_rows(16), Contains(1));
}

TEST(RowAxis, RowsChangeTheirPlacesAndRepeat) {
  const auto axis = RowAxis::between(tensor({3, 2}), tensor({5, 2}));
  ASSERT_TRUE(axis);
  const auto at_m = bytes_of({10, 11, 20, 21, 30, 31});
  std::vector<std::byte> at_other(10);
  axis->gather(at_m, at_other);
  EXPECT_EQ(at_other, bytes_of({20, 21, 30, 31, 10, 11, 20, 21, 30, 31}));
  EXPECT_EQ(axis->first_different(at_m, at_other), std::nullopt);
  at_other[7] = std::byte{0};
  EXPECT_EQ(axis->first_different(at_m, at_other), 3);
}

TEST(RowAxis, RowsOfATransposedTensorAreItsColumns) {
  const auto axis = RowAxis::between(tensor({2, 3}), tensor({2, 1}));
  ASSERT_TRUE(axis);
  const auto at_m = bytes_of({1, 2, 3, 4, 5, 6});
  std::vector<std::byte> at_other(2);
  axis->gather(at_m, at_other);
  EXPECT_EQ(at_other, bytes_of({2, 5}));
  at_other[1] = std::byte{6};
  EXPECT_EQ(axis->first_different(at_m, at_other), 0);
}

TEST(RowAxis, EqualTensorsHaveNone) { EXPECT_FALSE(RowAxis::between(tensor({2, 3}), tensor({2, 3}))); }

}  // namespace
}  // namespace attune
