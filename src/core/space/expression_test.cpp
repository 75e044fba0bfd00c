// SPDX-License-Identifier: MIT
#include "core/space/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace attune {
namespace {

std::optional<Value> lookup(std::string_view name) {
  if (name == "bm") return int64_t{128};
  if (name == "zero") return int64_t{0};
  if (name == "problem.k") return int64_t{7168};
  if (name == "layout") return std::string("plain");
  if (name == "share") return std::string("0.50");
  return std::nullopt;
}
Value value_of(std::string_view text) { return Expression::parse(text).evaluate(lookup); }
int64_t number(std::string_view text) { return std::get<int64_t>(value_of(text)); }
std::string error_of(std::string_view text) {
  try {
    value_of(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
  return "";
}

TEST(Expression, FollowsThePrecedenceOfC) {
  EXPECT_EQ(number("1 + 2 * 3 - 4 / 2"), 5);
  EXPECT_EQ(number("(1 + 2) * 3"), 9);
  EXPECT_EQ(number("10 - 4 - 3"), 3);
  EXPECT_EQ(number("2 * 7 % 4"), 2);
  EXPECT_EQ(number("1 < 2 == 1"), 1);
  EXPECT_EQ(number("1 || 0 && 0"), 1);
  EXPECT_EQ(number("!0 + 1"), 2);
  EXPECT_EQ(number("- -3"), 3);
  EXPECT_EQ(number("-7 / 2"), -3);
}

TEST(Expression, ComparesWithZeroOrOne) {
  EXPECT_EQ(number("2 >= 2"), 1);
  EXPECT_EQ(number("2>2"), 0);
  EXPECT_EQ(number("1 != 2"), 1);
  EXPECT_EQ(number("2 <= 1"), 0);
}

TEST(Expression, DecimalsCompareByTheirNumber) {
  EXPECT_EQ(number("share == 0.5"), 1);
  EXPECT_EQ(number("share != 0.5"), 0);
  EXPECT_EQ(number("share < 1 && share > -0.5"), 1);
  EXPECT_EQ(number("10.5 > 9.75"), 1) << "not as texts";
  EXPECT_EQ(number("2.0 == 2"), 1);
  EXPECT_EQ(value_of("min(share, 1)"), Value(std::string("0.50")));
  EXPECT_EQ(value_of("max(share, 1)"), Value(int64_t{1}));
  EXPECT_TRUE(Expression::parse("share").truth(lookup));
  EXPECT_THROW(Expression::is_true(Value(std::string("plain"))), Error);
  EXPECT_THAT(error_of("share + 1"), testing::HasSubstr("decimals only compare, got '0.50'"));
  EXPECT_THAT(error_of("1.2.3"), testing::HasSubstr("expected a 64-bit integer or a decimal"));
  EXPECT_THAT(error_of("layout < 0.5"), testing::HasSubstr("texts only compare"));
}

TEST(Expression, ReadsNamesTextsAndFunctions) {
  EXPECT_EQ(number("ceil_div(problem.k, bm)"), 56);
  EXPECT_EQ(number("ceil_div(7, 2) + min(3, 1) + max(bm, 2)"), 133);
  EXPECT_EQ(number("ceil_div(-7, 2)"), -3);
  EXPECT_EQ(number("layout == 'plain'"), 1);
  EXPECT_EQ(number("layout != 'vnni'"), 1);
  EXPECT_EQ(number("layout == 5"), 0);
  EXPECT_EQ(value_of("layout"), Value(std::string("plain")));
  EXPECT_THAT(Expression::parse("a.b * bm + a.b").names(), testing::ElementsAre("a.b", "bm"));
}

TEST(Expression, DoesNotReadWhatItDoesNotNeed) {
  EXPECT_EQ(number("zero == 0 || bm % zero == 0"), 1);
  EXPECT_EQ(number("zero != 0 && unknown"), 0);
  EXPECT_EQ(Expression::parse("unknown == 1").evaluate_if_known(lookup), std::nullopt);
  EXPECT_EQ(Expression::parse("1 || unknown").evaluate_if_known(lookup), Value(int64_t{1}));
}

TEST(Expression, ReportsOverflowAndDivisionByZero) {
  EXPECT_EQ(number("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(number("-9223372036854775808"), INT64_MIN);
  for (const auto* text : {"9223372036854775807 + 1", "-9223372036854775808 - 1", "9223372036854775807 * 2",
                           "-9223372036854775808 / -1", "-9223372036854775808 % -1", "-(-9223372036854775808)"}) {
    EXPECT_THAT(error_of(text), testing::HasSubstr("64 bits")) << text;
  }
  for (const auto* text : {"1 / zero", "1 % 0", "ceil_div(1, 0)"}) {
    EXPECT_THAT(error_of(text), testing::HasSubstr("divide by zero")) << text;
  }
  EXPECT_THAT(error_of("9223372036854775808"), testing::HasSubstr("64-bit integer"));
}

TEST(Expression, NamesWhatItCannotUse) {
  EXPECT_THAT(error_of("unknown + 1"), testing::HasSubstr("'unknown'"));
  EXPECT_THAT(error_of("layout < 5"), testing::HasSubstr("'plain'"));
  EXPECT_THAT(error_of("layout + 1"), testing::HasSubstr("'plain'"));
  EXPECT_THROW(Expression::parse("layout").truth(lookup), Error);
}

TEST(Expression, ReportsThePositionOfAMistake) {
  for (const auto& [text, position] : {std::pair{"1 +", 4},
                                       {"", 1},
                                       {"(1", 3},
                                       {"1 2", 3},
                                       {"bm &", 4},
                                       {"min(1)", 6},
                                       {"sin(1, 2)", 1},
                                       {"'open", 1},
                                       {"3x", 1},
                                       {"1 = 2", 3}}) {
    EXPECT_THAT(error_of(text), testing::HasSubstr(fmt::format("position {} ", position))) << text;
  }
}

TEST(Expression, IsBoundedInDepthAndLength) {
  EXPECT_THAT(error_of(std::string(100, '(') + "1" + std::string(100, ')')), testing::HasSubstr("too deep"));
  EXPECT_THAT(error_of(std::string(100, '!') + "1"), testing::HasSubstr("too deep"));
  EXPECT_THAT(error_of(std::string(5000, ' ') + "1"), testing::HasSubstr("at most"));
  std::string chain = "1";
  while (chain.size() < 2000) chain += "+1";
  EXPECT_EQ(number(chain), static_cast<int64_t>(chain.size() + 1) / 2);
}

}  // namespace
}  // namespace attune
