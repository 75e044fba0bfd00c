// SPDX-License-Identifier: MIT
#include "pipeline/run/argument_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "attune/error.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string refusal(std::string_view text) {
  try {
    split_arguments(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
  return "";
}

TEST(ArgumentText, IsSplitAtBlanks) {
  EXPECT_THAT(split_arguments(""), IsEmpty());
  EXPECT_THAT(split_arguments("   "), IsEmpty());
  EXPECT_THAT(split_arguments("  --budget 10m  --max-m=64 "), ElementsAre("--budget", "10m", "--max-m=64"));
}

TEST(ArgumentText, KeepsWhatStandsInQuotes) {
  EXPECT_THAT(split_arguments("--cache 'my kernels;$(x)' --libtype=\"a b\""),
              ElementsAre("--cache", "my kernels;$(x)", "--libtype=a b"));
  EXPECT_THAT(split_arguments(R"("a\"b\\c\d" '\')"), ElementsAre(R"(a"b\c\d)", "\\"));
  EXPECT_THAT(split_arguments("a'b'\"c\"d ''"), ElementsAre("abcd", ""));
}

TEST(ArgumentText, OfAShellIsRefused) {
  for (const char* text :
       {"--all; rm -rf /", "--all && x", "$(id)", "`id`", "--o=$HOME", "a > b", "a | b", "*", "a\\ b"})
    EXPECT_THAT(refusal(text), HasSubstr("no shell reads them")) << text;
}

TEST(ArgumentText, OfSeveralLinesIsRefused) {
  for (const std::string_view text :
       {std::string_view("--all\n--sort"), std::string_view("'a\nb'"), std::string_view("a\tb"),
        std::string_view("\"a\r\""), std::string_view("a\0b", 3)})
    EXPECT_THAT(refusal(text), HasSubstr("control character"));
}

TEST(ArgumentText, WithAnOpenQuoteIsRefused) {
  for (const char* text : {"'", "--cache 'a b", "\"a\\\"", "it's"})
    EXPECT_THAT(refusal(text), HasSubstr("is not closed")) << text;
}

}  // namespace
}  // namespace attune
