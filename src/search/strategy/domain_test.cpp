// SPDX-License-Identifier: MIT
#include "search/strategy/domain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"

namespace attune {
namespace {

constexpr DomainLimits kEvaluated{.max_enumerated = 0};

Parameter parameter_of(std::string name, std::vector<int64_t> values, std::string active_if = "") {
  return {std::move(name), {values.begin(), values.end()}, Binding::launch_time, std::move(active_if), std::nullopt};
}

/// Conditions, and rules about parameters, problem and device.
SearchSpace ruled_space() {
  return SearchSpace::product({parameter_of("rows", {1, 2, 4, 8, 16}), parameter_of("split", {0, 1}),
                               parameter_of("parts", {2, 4, 8}, "split"), parameter_of("threads", {1, 2, 4})},
                              {{"fits", "rows * threads <= problem.m", ""},
                               {"units", "threads <= device.num_units", ""},
                               {"parts", "parts < 8 || rows > 4", ""}});
}
const Problem kTwelveRows = Problem::parse("gemm_a16w16 m=12 n=16 k=32 dtype=fp32");
DeviceInfo two_units() {
  DeviceInfo device;
  device.num_units = 2;
  return device;
}
std::vector<uint64_t> members_of(const Domain& domain) {
  std::vector<uint64_t> members;
  for (uint64_t index = 0; index < domain.space().size() + 10; ++index) {
    if (domain.contains(index)) members.push_back(index);
  }
  return members;
}
std::vector<uint64_t> drawn_from(RandomOrder& order) {
  std::vector<uint64_t> drawn;
  while (const auto index = order.next()) drawn.push_back(*index);
  return drawn;
}

TEST(Domain, HoldsTheSameConfigsEnumeratedAndEvaluatedWhereAsked) {
  const Domain enumerated(ruled_space(), kTwelveRows, two_units());
  const Domain evaluated(ruled_space(), kTwelveRows, two_units(), kEvaluated);
  ASSERT_TRUE(enumerated.is_enumerated());
  ASSERT_FALSE(evaluated.is_enumerated());
  const auto members = members_of(evaluated);
  EXPECT_EQ(members, members_of(enumerated));
  EXPECT_EQ(members.size(), enumerated.size());
  for (const uint64_t index : members) {
    const Config config = ruled_space().at(index);
    EXPECT_LE(config.integer("rows") * config.integer("threads"), 12);
    EXPECT_LE(config.integer("threads"), 2);
    EXPECT_TRUE(!config.has("parts") || config.integer("parts") < 8 || config.integer("rows") > 4);
    EXPECT_EQ(ruled_space().index_of(config), index) << "a second index of one config";
  }
  EXPECT_GT(members.size(), 10u);
  EXPECT_LT(members.size(), 60u);
}

TEST(Domain, OfListedRowsIsEvaluatedByTheirAttributes) {
  const auto listed = SearchSpace::from_json(
      R"({"listed":{"rows":3,"columns":[{"name":"algo","values":[1,2,3],"codes":[1,2,3]},{"name":"split","values":[1,8],"codes":[1,2,0]}]},"rules":[{"id":"s","expression":"split < 4"}]})");
  EXPECT_THAT(members_of(Domain(listed, {}, {}, kEvaluated)), testing::ElementsAre(0, 2));
}

TEST(Domain, ARuleThatCannotBeReadIsRefusedAtOnceAndOneThatCannotBeEvaluatedWhereItIs) {
  const auto space_with = [](std::string rule) {
    return SearchSpace::product({parameter_of("a", {0, 1})}, {{"odd", std::move(rule), ""}});
  };
  EXPECT_THROW(Domain(space_with("device.lds > 1"), {}, {}, kEvaluated), Error);
  const Domain divides(space_with("1 / a"), {}, {}, kEvaluated);
  EXPECT_TRUE(divides.contains(1));
  EXPECT_THROW(divides.contains(0), Error);
}

TEST(RandomOrder, GivesEveryConfigOnceWhetherEnumeratedOrNot) {
  for (const DomainLimits limits : {DomainLimits(), kEvaluated}) {
    const Domain domain(ruled_space(), kTwelveRows, two_units(), limits);
    RandomOrder order(domain, 7);
    const auto drawn = drawn_from(order);
    EXPECT_THAT(drawn, testing::UnorderedElementsAreArray(members_of(domain)));
    EXPECT_FALSE(std::is_sorted(drawn.begin(), drawn.end()));
    EXPECT_TRUE(order.exhausted());
    EXPECT_FALSE(order.gave_up());
    EXPECT_EQ(order.remark(), "");
  }
}

TEST(RandomOrder, GivesUpWithASentenceWhenTheRulesLeaveTooLittle) {
  const auto space = SearchSpace::product(
      {parameter_of("a", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), parameter_of("b", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9})},
      {{"one", "a == 3 && b == 3", ""}});
  RandomOrder patient(Domain(space, {}, {}, {.max_enumerated = 0, .max_rejected = 100}), 1);
  EXPECT_THAT(drawn_from(patient), testing::ElementsAre(33));
  EXPECT_FALSE(patient.gave_up());
  RandomOrder hasty(Domain(space, {}, {}, {.max_enumerated = 0, .max_rejected = 3}), 1);
  EXPECT_THAT(drawn_from(hasty), testing::IsEmpty());
  EXPECT_TRUE(hasty.exhausted());
  EXPECT_THAT(hasty.remark(), testing::HasSubstr("excluded 3 in a row"));
}

TEST(RandomOrder, CountsOnlyRejectionsInARow) {
  std::vector<int64_t> values;
  for (int64_t value = 0; value < 200; ++value) values.push_back(value);
  const auto space = SearchSpace::product({parameter_of("a", values)}, {{"half", "a % 2 == 0", ""}});
  RandomOrder order(Domain(space, {}, {}, {.max_enumerated = 0, .max_rejected = 30}), 1);
  EXPECT_EQ(drawn_from(order).size(), 100u);
}

}  // namespace
}  // namespace attune
