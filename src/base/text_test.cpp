// SPDX-License-Identifier: MIT
#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace attune {
namespace {

using testing::ElementsAre;

TEST(Text, TrimTakesBlanksTabsAndLineEndsAtBothEnds) {
  EXPECT_EQ(trim(" \t a b \r\n"), "a b");
  EXPECT_EQ(trim(" \t\r\n"), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Text, LowerCaseLeavesOtherBytesAlone) { EXPECT_EQ(to_lower("AbZ_9Ä"), "abz_9Ä"); }

TEST(Text, SplitKeepsEmptyPieces) {
  EXPECT_THAT(split("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(split("", ','), ElementsAre(""));
}

TEST(Text, JoinIsTheReverseOfSplit) {
  EXPECT_EQ(join({"a", "", "b"}, ", "), "a, , b");
  EXPECT_EQ(join({}, ", "), "");
}

TEST(Text, WholeNumbersAreReadWholeOrNotAtAll) {
  EXPECT_EQ(parse_int("-42"), -42);
  EXPECT_EQ(parse_int("+7"), 7);
  EXPECT_EQ(parse_int("9223372036854775807"), std::numeric_limits<int64_t>::max());
  for (const auto text : {"", "9223372036854775808", "1.0", "1 ", " 1", "0x10", "1e3", "-", "+"})
    EXPECT_FALSE(parse_int(text)) << text;
}

TEST(Text, ASignIsGivenOnce) {
  for (const auto text : {"+-1", "++1", "-+1"}) {
    EXPECT_FALSE(parse_int(text)) << text;
    EXPECT_FALSE(parse_double(text)) << text;
  }
}

TEST(Text, NumbersIncludeThoseThatAreNotFinite) {
  EXPECT_EQ(parse_double("1e-3"), 1e-3);
  EXPECT_EQ(parse_double("-.5"), -0.5);
  EXPECT_TRUE(std::isinf(*parse_double("inf")));
  EXPECT_TRUE(std::isnan(*parse_double("nan")));
  for (const auto text : {"", "1,5", "1 ", "0.9%", "x"}) EXPECT_FALSE(parse_double(text)) << text;
}

TEST(Text, FlagsAreReadAsTablesSpellThem) {
  for (const auto text : {"1", "True", "true", "TRUE"}) EXPECT_EQ(parse_bool(text), true) << text;
  for (const auto text : {"0", "False", "false", "FALSE"}) EXPECT_EQ(parse_bool(text), false) << text;
  for (const auto text : {"", "2", "yes", " 1"}) EXPECT_FALSE(parse_bool(text)) << text;
}

TEST(Text, DurationsHaveUnits) {
  EXPECT_EQ(parse_duration_s("250ms"), 0.25);
  EXPECT_EQ(parse_duration_s("30s"), 30);
  EXPECT_EQ(parse_duration_s("10m"), 600);
  EXPECT_EQ(parse_duration_s("1.5h"), 5400);
  EXPECT_EQ(parse_duration_s("2d"), 172800);
  EXPECT_EQ(parse_duration_s("7"), 7);
  for (const auto text : {"", "s", "-1s", "inf", "nan", "1 s", "5w", "1e308h"})
    EXPECT_FALSE(parse_duration_s(text)) << text;
}

TEST(Text, DurationsAreShownShortly) {
  EXPECT_EQ(format_duration(3.42), "3.4 s");
  EXPECT_EQ(format_duration(72), "1m 12s");
  EXPECT_EQ(format_duration(7384), "2h 03m");
  EXPECT_EQ(format_duration(3.6e20), "1e+17h");
}

TEST(Text, ShownTextIsOneLineWithoutControlCharacters) {
  EXPECT_EQ(shown("a b/ü×.csv"), "a b/ü×.csv");
  EXPECT_EQ(shown("a\nb\tc\r"), "a\\nb\\tc\\r");
  EXPECT_EQ(shown(std::string_view("\0\x1b[31m\x7f", 7)), "\\x00\\x1b[31m\\x7f");
  EXPECT_EQ(shown("\xc2\x9b"), "\\xc2\\x9b");           // CSI as one character
  EXPECT_EQ(shown("\xff\xc3"), "\\xff\\xc3");           // not UTF-8
  EXPECT_EQ(shown("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // a surrogate
}

TEST(Text, ShownTextIsCutBetweenCharacters) {
  EXPECT_EQ(shown("abc", 3), "abc");
  EXPECT_EQ(shown("abcd", 3), "abc…");
  EXPECT_EQ(shown("×××", 2), "××…");
  EXPECT_EQ(shown(std::string(60000, 'x')).size(), 80 + std::string_view("…").size());
}

TEST(Text, AMisspeltNameHasANearestOneIfOneIsNear) {
  const std::vector<std::string> names = {"--budget", "--max-m", "-o", "--output", "--dtype", "--dtype_b"};
  for (const auto& [word, nearest] : {std::pair("--bugdet", "--budget"),
                                      {"-budget", "--budget"},
                                      {"--BUDGETS", "--budget"},
                                      {"--max_m", "--max-m"},
                                      {"--otput", "--output"},
                                      {"--dtypes", "--dtype"},
                                      {"--dtypeb", "--dtype"},
                                      {"--frob", ""},
                                      {"--bdgt", ""},
                                      {"-q", ""},
                                      {"--", ""}})
    EXPECT_EQ(nearest_name(word, names), nearest) << word;
  EXPECT_EQ(nearest_name(std::string(1000, 'x'), names), "");
  EXPECT_EQ(nearest_name("x", {}), "");
}

TEST(Text, CountsAgreeWithTheirNoun) {
  EXPECT_EQ(counted(0, "shape"), "0 shapes");
  EXPECT_EQ(counted(1, "shape"), "1 shape");
  EXPECT_EQ(counted(2, "shape"), "2 shapes");
  EXPECT_EQ(counted_of(0, 1, "shape"), "0 of 1 shape");
  EXPECT_EQ(counted_of(1, 3, "shape"), "1 of 3 shapes");
}

}  // namespace
}  // namespace attune
