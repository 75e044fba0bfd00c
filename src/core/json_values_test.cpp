// SPDX-License-Identifier: MIT
#include "core/json_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace attune {
namespace {

using nlohmann::json;

TEST(JsonValues, NumbersStayNumbersEvenWhenNotFinite) {
  const Errors errors{std::numeric_limits<double>::infinity(), -0.0, 0.1};
  const json value = json_of(errors);
  EXPECT_TRUE(value.at(0).is_number_float());
  EXPECT_EQ(errors_from(value), errors);
  EXPECT_TRUE(std::signbit(errors_from(value).max_relative));
}

TEST(JsonValues, ReadsTheWordsThatTextHasForThem) {
  EXPECT_EQ(real_from("inf"), std::numeric_limits<double>::infinity());
  EXPECT_EQ(real_from("-inf"), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(real_from("nan")));
  EXPECT_THROW(real_from("many"), Error);
}

TEST(JsonValues, WholeNumbersAreNeitherCutNorRoundedNorWrapped) {
  constexpr auto kMax = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(uint64_from(kMax), kMax);
  EXPECT_EQ(uint64_from(5), 5u);
  EXPECT_EQ(uint32_from(~0u), ~0u);
  EXPECT_EQ(int64_from(std::numeric_limits<int64_t>::min()), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(int64_from(uint64_t{1} << 62), int64_t{1} << 62);
  for (const json& wrong : {json(-1), json(1.0), json(true), json("1"), json(nullptr), json::array({1})}) {
    EXPECT_THROW(uint64_from(wrong), Error) << wrong;
    EXPECT_THROW(uint32_from(wrong), Error) << wrong;
  }
  EXPECT_THROW(uint32_from(uint64_t{1} << 32), Error);
  EXPECT_THROW(int64_from(kMax), Error);
  EXPECT_THROW(int64_from(1e300), Error);
}

TEST(JsonValues, AnOutcomeComesBackWithItsMeasurementOrWithoutOne) {
  Outcome outcome{Status::timed_out, "a detail\xff", {0.1, 0.2, 0.3}, std::nullopt};
  EXPECT_EQ(outcome_from(json_of(outcome)), outcome);
  outcome.measurement.emplace().samples = {{1.1f, 0.9f, 3, true}};
  for (const Timing timing : {Timing::clock, Timing::events, Timing::graph}) {
    outcome.measurement->timing = timing;
    EXPECT_EQ(outcome_from(json_of(outcome)), outcome);
  }
  outcome.measurement->bandwidth_gbs = 12.5;
  EXPECT_EQ(outcome_from(json_of(outcome)).measurement->bandwidth_gbs, 12.5);
  auto before = json_of(outcome);
  before["measurement"]["timing"] = "host";
  EXPECT_EQ(outcome_from(before).measurement->timing, Timing::clock) << "its name in entries of older versions";
}

}  // namespace
}  // namespace attune
