// SPDX-License-Identifier: MIT
#include "search/prune.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

Parameter numbers(std::string name, std::vector<int64_t> values, std::string active_if = "") {
  return {std::move(name), {values.begin(), values.end()}, Binding::launch_time, std::move(active_if), std::nullopt};
}
const Problem kProblem = Problem::parse("gemm_a16w16 m=128 n=1536 k=7168 dtype=bf16");
DeviceInfo device() {
  DeviceInfo info;
  info.num_units = 4;
  info.cache_bytes = 1024;
  info.facts["shared_bytes"] = 100;
  return info;
}
std::vector<std::string> keys(const SearchSpace& space, const PruneResult& pruned) {
  std::vector<std::string> result;
  for (const auto index : pruned.allowed) result.push_back(space.at(index).key());
  return result;
}
std::string error_of(const SearchSpace& space) {
  try {
    prune(space, kProblem, device(), 1);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    return error.what();
  }
  return "";
}

TEST(Prune, KeepsWhatEveryRuleAllowsAndCountsTheFirstThatRejects) {
  const auto space = SearchSpace::product(
      {numbers("bm", {16, 64, 256})},
      {{"shared", "bm <= device.shared_bytes", ""}, {"rows", "bm * 2 <= problem.m && bm > device.num_units * 8", ""}});
  const auto pruned = prune(space, kProblem, device(), 1);
  EXPECT_THAT(keys(space, pruned), ElementsAre("bm=64"));
  EXPECT_THAT(pruned.rejected_by, UnorderedElementsAre(Pair("shared", 1), Pair("rows", 1)));
  EXPECT_EQ(pruned.num_rejected_by("shared"), 1u);
  EXPECT_EQ(pruned.num_rejected_by("a rule that rejected nothing"), 0u);
  EXPECT_FALSE(pruned.sampled);
  EXPECT_EQ(pruned.count_text(space), "1 of 3 configs");
}

TEST(Prune, ASetOfRulesAdvisesSearchesAndExcludesNoConfig) {
  const auto space =
      SearchSpace::product({numbers("bm", {16, 64, 256})}, {{"memory", "bm < 200", "too large"}},
                           {{"first", {{"few", "bm < 64", "rarely fast"}}}, {"second", {{"many", "bm > 16", ""}}}});
  const auto allowed = [](const SearchSpace& one) { return keys(one, prune(one, kProblem, device(), 1)); };
  EXPECT_THAT(allowed(space), ElementsAre("bm=16")) << "the first set is the default";
  EXPECT_THAT(allowed(space.with_rule_set("second")), ElementsAre("bm=64"));
  EXPECT_THAT(allowed(space.with_rule_set("second", {{"where", "bm > problem.m", ""}})), ElementsAre());
  EXPECT_THAT(allowed(space.with_rule_set("no set of it")), ElementsAre("bm=16"));
  EXPECT_EQ(why_outside(space, Config::parse("bm=64"), kProblem, device()), std::nullopt);
  EXPECT_THAT(*why_outside(space, Config::parse("bm=256"), kProblem, device()), HasSubstr("rule memory"));
  std::vector<std::string> ids;
  for (const Rule& rule : space.search_rules()) ids.push_back(rule.id);
  EXPECT_THAT(ids, ElementsAre("memory", "few"));
}

TEST(Prune, LeavesOutIndicesThatRepeatAConfig) {
  const auto space = SearchSpace::product({numbers("split", {0, 1}), numbers("parts", {2, 4}, "split == 1")}, {});
  EXPECT_THAT(prune(space, kProblem, device(), 1).allowed, ElementsAre(0, 2, 3));
}

TEST(Prune, ARuleOnAnInactiveParameterDoesNotApply) {
  const auto space = SearchSpace::product({numbers("split", {0, 1}), numbers("parts", {2, 4}, "split == 1")},
                                          {{"few", "parts < 4", ""}});
  EXPECT_THAT(keys(space, prune(space, kProblem, device(), 1)), ElementsAre("split=0", "parts=2;split=1"));
}

TEST(Prune, RulesReadTextsOfTheProblem) {
  const auto space = SearchSpace::product({numbers("a", {1})}, {{"type", "problem.dtype == 'fp32'", ""}});
  EXPECT_TRUE(prune(space, kProblem, device(), 1).allowed.empty());
}

TEST(Prune, NamesTheRuleThatCannotBeEvaluated) {
  const auto space_with = [](std::string rule) {
    return SearchSpace::product({numbers("a", {0, 1})}, {{"odd", std::move(rule), ""}});
  };
  EXPECT_THAT(error_of(space_with("b > 1")), testing::AllOf(HasSubstr("'odd'"), HasSubstr("'b'")));
  EXPECT_THAT(error_of(space_with("device.lds > 1")), HasSubstr("'device.lds'"));
  EXPECT_THAT(error_of(space_with("1 / a")), testing::AllOf(HasSubstr("rule 'odd'"), HasSubstr("'a=0'")));
  EXPECT_THAT(error_of(space_with("problem.dtype")), HasSubstr("'bf16'"));
}

TEST(Prune, SamplesASpaceThatIsTooLargeToEnumerate) {
  std::vector<Parameter> parameters;
  for (int i = 0; i < 20; ++i) parameters.push_back(numbers(fmt::format("p{}", i), {0, 1, 2, 3}));
  const auto space = SearchSpace::product(parameters, {{"half", "p0 < 2", ""}});
  const auto pruned = prune(space, kProblem, device(), 1, 1000);
  EXPECT_TRUE(pruned.sampled);
  EXPECT_EQ(pruned.allowed.size() + pruned.rejected_by.at("half"), 1000u);
  EXPECT_GT(pruned.allowed.size(), 400u);
  EXPECT_EQ(pruned.count_text(space),
            fmt::format("{} of a sample of 1000 of 1099511627776 configs", pruned.allowed.size()));
  EXPECT_TRUE(std::is_sorted(pruned.allowed.begin(), pruned.allowed.end()));
  EXPECT_EQ(prune(space, kProblem, device(), 1, 1000).allowed, pruned.allowed);
  EXPECT_NE(prune(space, kProblem, device(), 2, 1000).allowed, pruned.allowed);
}

TEST(Prune, ListedSpacesArePrunedByTheirAttributes) {
  const auto space = SearchSpace::from_json(
      R"({"listed":{"rows":3,"columns":[{"name":"algo","values":[1,2,3],"codes":[1,2,3]},{"name":"split","values":[1,8],"codes":[1,2,0]}]},"rules":[{"id":"s","expression":"split < 4"}]})");
  EXPECT_THAT(prune(space, kProblem, device(), 1).allowed, ElementsAre(0, 2));
}

}  // namespace
}  // namespace attune
