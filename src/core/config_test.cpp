// SPDX-License-Identifier: MIT
#include "core/config.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace attune {
namespace {

TEST(Config, ParametersAreOrderedByName) {
  EXPECT_EQ(Config({{"bm", int64_t{128}}, {"bk", int64_t{64}}, {"layout", std::string("plain")}}).key(),
            "bk=64;bm=128;layout=plain");
}

TEST(Config, TheKeyReadsBackToTheSameConfig) {
  for (const std::string key : {"", "a=1", "a=-1;b=x", "a=007", "a=0.50", "a=x%20y%2Cz%25",
                                "part=jit.gemm@3:[bk=64;bm=128]", "part=jit.gemm@3:[layout=a%252Cb]"}) {
    EXPECT_EQ(Config::parse(key).key(), key);
    EXPECT_EQ(Config::parse(Config::parse(key).key()), Config::parse(key));
  }
}

TEST(Config, ANumberIsOnlyWhatPrintsTheSame) {
  const auto config = Config::parse("a=7;b=007;c=9223372036854775808");
  EXPECT_EQ(config.integer("a"), 7);
  EXPECT_EQ(config.text("b"), "007");
  EXPECT_EQ(config.text("c"), "9223372036854775808");
}

TEST(Config, AMissingParameterIsNotFoundAndAWrongTypeInvalid) {
  const auto config = Config::parse("a=7;b=x");
  const auto code = [](auto call) {
    try {
      call();
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::internal;
  };
  EXPECT_EQ(code([&] { config.at("z"); }), ErrorCode::not_found);
  EXPECT_EQ(code([&] { config.integer("b"); }), ErrorCode::invalid_input);
  EXPECT_EQ(code([&] { config.text("a"); }), ErrorCode::invalid_input);
  EXPECT_TRUE(config.has("a"));
  EXPECT_FALSE(config.has("z"));
}

TEST(Config, WhatCouldNotBeReadBackIsRefused) {
  for (const std::string key : {"a", "=1", "a=", "a=1;", ";a=1", "a=1;a=2", "a=x y", "a=x,y", "a=\"x\"", "a=[", "a=]",
                                "a=b=c", "a=%2", "a=%41", "a=x%", "a%20b=1"})
    EXPECT_THROW(Config::parse(key), Error) << key;
  EXPECT_THROW(Config({{"a;b", int64_t{1}}}), Error);
  EXPECT_THROW(Config({{"a", std::string("x;y")}}), Error);
  EXPECT_THROW(Config({{"a b", int64_t{1}}}), Error);
  EXPECT_THROW(Config({{"a", std::string("x\ny")}}), Error);
}

TEST(Config, ValuesOfOtherToolsKeepBlanksCommasAndPercentSigns) {
  const Config config({{"tile", std::string("<16, 16>")}, {"share", std::string("50%")}});
  EXPECT_EQ(config.key(), "share=50%25;tile=<16%2C%2016>");
  EXPECT_EQ(Config::parse(config.key()).text("tile"), "<16, 16>");
  EXPECT_EQ(Config::parse(config.key()), config);
}

TEST(Config, DecimalsAreNumbersAndKeepTheirDigits) {
  EXPECT_EQ(number_of(Value(int64_t{3})), 3.0);
  EXPECT_EQ(number_of(parse_value("0.50")), 0.5);
  EXPECT_EQ(number_of(parse_value("-1.25")), -1.25);
  EXPECT_EQ(to_text(parse_value("0.50")), "0.50");
  for (const std::string text : {"", "x", "007", ".5", "5.", "1.2.3", "1e5", "inf", "nan", "-", "+1.5", "0x1.8"})
    EXPECT_FALSE(number_of(Value(text))) << text;
}

}  // namespace
}  // namespace attune
