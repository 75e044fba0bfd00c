// SPDX-License-Identifier: MIT
#include "attune/problem.h"

#include <gtest/gtest.h>

#include <array>

#include "base/error.h"

namespace attune {
namespace {

TEST(Problem, TheKeyReadsBackToTheSameProblem) {
  const auto problem = Problem::parse("  gemm_a16w16 m=128\t  n=2 dtype=torch.bfloat16 \n");
  EXPECT_EQ(problem.key(), "gemm_a16w16 m=128 n=2 dtype=torch.bfloat16");
  EXPECT_EQ(Problem::parse(problem.key()), problem);
  EXPECT_EQ(problem.op(), "gemm_a16w16");
}

TEST(Problem, AttributesAreReadByType) {
  const auto problem = Problem::parse("g m=128 dtype=fp16 layout=a:b[c]");
  EXPECT_EQ(problem.integer("m"), 128);
  EXPECT_EQ(problem.dtype("dtype"), DType::fp16);
  EXPECT_EQ(problem.text("layout"), "a:b[c]");
  EXPECT_TRUE(problem.has("m"));
  EXPECT_FALSE(problem.has("n"));
  EXPECT_EQ(problem.integer_or("trans_a", 1), 1);
  EXPECT_THROW(problem.integer("n"), Error);
  EXPECT_THROW(problem.integer("dtype"), Error);
  EXPECT_THROW(problem.dtype("m"), Error);
}

TEST(Problem, SettingAnAttributeKeepsTheOrder) {
  const auto problem = Problem::parse("g m=1 n=2");
  EXPECT_EQ(problem.with("m", "3").key(), "g m=3 n=2");
  EXPECT_EQ(problem.with("k", "4").key(), "g m=1 n=2 k=4");
  EXPECT_EQ(problem.key(), "g m=1 n=2");
}

TEST(Problem, TextThatIsNoProblemIsInvalidInput) {
  for (const std::string text : {"", " ", "m=1", "g m", "g m=", "g =1", "g m=1 m=2", "g m=1,2", "g m=\"1\"", "g m=a=b",
                                 "g-h m=1", "g m=\xc3\xa4"}) {
    try {
      Problem::parse(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input) << text;
    }
  }
  EXPECT_THROW(Problem::parse("g m=" + std::string(5000, '1')), Error);
}

TEST(Problem, OrdersByKey) { EXPECT_LT(Problem::parse("g m=1"), Problem::parse("g m=2")); }

TEST(ProblemKey, DiffersByOpValueAndCount) {
  const std::array<int64_t, 3> values = {1, 2, 3};
  const auto key = ProblemKey::of(1, values);
  EXPECT_EQ(key, ProblemKey::of(1, values));
  EXPECT_FALSE(key == ProblemKey::of(2, values));
  EXPECT_FALSE(key == ProblemKey::of(1, std::span(values).first(2)));
  EXPECT_FALSE(key == ProblemKey::of(1, std::array<int64_t, 3>{1, 3, 2}));
}

}  // namespace
}  // namespace attune
