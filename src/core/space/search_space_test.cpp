// SPDX-License-Identifier: MIT
#include "core/space/search_space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;

Parameter numbers(std::string name, std::vector<int64_t> values, std::string active_if = "") {
  return {std::move(name), {values.begin(), values.end()}, Binding::launch_time, std::move(active_if), std::nullopt};
}
Parameter texts(std::string name, std::vector<std::string> values) {
  return {std::move(name), {values.begin(), values.end()}, Binding::compile_time, "", std::nullopt};
}
/// A space of 3 · 2 · 2 · 3 indices, of which 3 · 2 · (1 + 3) give different configs.
SearchSpace conditional() {
  return SearchSpace::product({numbers("bm", {16, 32, 64}), texts("layout", {"plain", "packed"}),
                               numbers("split", {0, 1}), numbers("parts", {2, 4, 8}, "split == 1")},
                              {{"small", "bm * parts <= 256", "the workspace grows with both"}});
}
std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}
std::vector<std::string> keys(const SearchSpace& space, const std::vector<uint64_t>& indices) {
  std::vector<std::string> result;
  for (const auto index : indices) result.push_back(space.at(index).key());
  return result;
}

TEST(SearchSpace, ProductListsEveryCombinationTheLastParameterFastest) {
  const auto space = SearchSpace::product({numbers("a", {1, 2}), numbers("b", {5, 6, 7})}, {});
  ASSERT_EQ(space.size(), 6u);
  EXPECT_THAT(keys(space, {0, 1, 3, 5}), ElementsAre("a=1;b=5", "a=1;b=6", "a=2;b=5", "a=2;b=7"));
  EXPECT_THROW(space.at(6), Error);
}

TEST(SearchSpace, LeavesInactiveParametersOutOfTheConfig) {
  const auto space = conditional();
  EXPECT_EQ(space.size(), 36u);
  EXPECT_EQ(space.at(0).key(), "bm=16;layout=plain;split=0");
  EXPECT_EQ(space.at(2), space.at(0));
  EXPECT_EQ(space.canonical(2), 0u);
  EXPECT_EQ(space.at(3).key(), "bm=16;layout=plain;parts=2;split=1");
  EXPECT_EQ(space.values_at(0)[3], nullptr);
}

TEST(SearchSpace, FindsTheFirstIndexOfEveryConfig) {
  const auto space = conditional();
  std::set<uint64_t> found;
  for (uint64_t index = 0; index < space.size(); ++index) {
    const auto first = space.index_of(space.at(index));
    ASSERT_TRUE(first);
    EXPECT_EQ(*first, space.canonical(index));
    EXPECT_EQ(space.at(*first), space.at(index));
    found.insert(*first);
  }
  EXPECT_EQ(found.size(), 24u);
}

TEST(SearchSpace, HasNoIndexForAForeignConfig) {
  const auto space = conditional();
  for (const auto* key : {"bm=16;layout=plain", "bm=17;layout=plain;split=0", "bm=16;layout=plain;parts=2;split=0",
                          "bm=16;layout=plain;split=0;x=1", ""}) {
    EXPECT_EQ(space.index_of(Config::parse(key)), std::nullopt) << key;
  }
}

TEST(SearchSpace, AParameterIsInactiveWhenItsConditionReadsAnInactiveOne) {
  const auto space = SearchSpace::product({numbers("a", {0, 1}), numbers("b", {0, 1}, "a"),
                                           numbers("c", {0, 1}, "b == 0"), numbers("d", {0, 1}, "a == 0 || b == 1")},
                                          {});
  EXPECT_EQ(space.at(0).key(), "a=0;d=0");
  EXPECT_EQ(space.at(8).key(), "a=1;b=0;c=0");
  EXPECT_EQ(space.at(12).key(), "a=1;b=1;d=0");
}

TEST(SearchSpace, NeighboursOfNumbersAreOneStepAwayAndOfTextsAnyOther) {
  const auto space = SearchSpace::product({numbers("bm", {16, 32, 64}), texts("layout", {"x", "y", "z"})}, {});
  const auto middle = *space.index_of(Config::parse("bm=32;layout=x"));
  EXPECT_THAT(keys(space, space.neighbours(middle)),
              ElementsAre("bm=16;layout=x", "bm=32;layout=y", "bm=32;layout=z", "bm=64;layout=x"));
  EXPECT_THAT(keys(space, space.neighbours(0)), ElementsAre("bm=16;layout=y", "bm=16;layout=z", "bm=32;layout=x"));
}

TEST(SearchSpace, DecimalsAreOrderedInSpacesRulesAndJson) {
  const auto space = SearchSpace::from_json(R"({"parameters": [{"name": "share", "values": [0.25, 0.5, 0.75, 1]}],
      "rules": [{"id": "r", "expression": "share < 0.6"}]})");
  EXPECT_EQ(space.at(1).key(), "share=0.5");
  EXPECT_EQ(space.at(3).integer("share"), 1);
  EXPECT_THAT(keys(space, space.neighbours(1)), ElementsAre("share=0.25", "share=0.75"));
  EXPECT_EQ(SearchSpace::from_json(space.to_json()), space);
  EXPECT_THROW(SearchSpace::from_json(R"({"parameters": [{"name": "a", "values": [1e300]}]})"), Error);
}

TEST(SearchSpace, NeighboursAreCanonicalAndIgnoreInactiveParameters) {
  const auto space = conditional();
  EXPECT_THAT(
      keys(space, space.neighbours(2)),
      ElementsAre("bm=16;layout=plain;parts=2;split=1", "bm=16;layout=packed;split=0", "bm=32;layout=plain;split=0"));
  for (const auto neighbour : space.neighbours(5)) EXPECT_EQ(space.canonical(neighbour), neighbour);
}

TEST(SearchSpace, NeighboursOfAListedRowDifferInTheFewestAttributes) {
  const auto space = SearchSpace::listed({Config::parse("algo=1;tile=64;w=0"), Config::parse("algo=1;tile=32;w=0"),
                                          Config::parse("algo=2;tile=32;w=1"), Config::parse("algo=1;tile=64")});
  EXPECT_THAT(space.neighbours(0), ElementsAre(1, 3));
  EXPECT_THAT(space.neighbours(2), ElementsAre(1));
  EXPECT_TRUE(SearchSpace::listed({Config()}).neighbours(0).empty());
}

TEST(SearchSpace, ListedKeepsRepeatedRowsOnceAndFindsThem) {
  const auto space = SearchSpace::listed({Config::parse("algo=7"), Config::parse("algo=3"), Config::parse("algo=7")});
  ASSERT_EQ(space.size(), 2u);
  EXPECT_TRUE(space.is_listed());
  EXPECT_EQ(space.at(1).key(), "algo=3");
  EXPECT_EQ(space.index_of(Config::parse("algo=3")), 1u);
  EXPECT_EQ(space.index_of(Config::parse("algo=4")), std::nullopt);
}

TEST(SearchSpace, ASpaceWithoutParametersHoldsOneEmptyConfig) {
  const auto space = SearchSpace::product({}, {});
  EXPECT_EQ(space.size(), 1u);
  EXPECT_EQ(space.at(0), Config());
  EXPECT_EQ(SearchSpace().size(), 0u);
}

TEST(SearchSpace, RefusesWhatItCannotHold) {
  const auto product = [](std::vector<Parameter> parameters) {
    return error_of([&] { SearchSpace::product(std::move(parameters), {}); });
  };
  EXPECT_THAT(product({numbers("a", {})}), HasSubstr("'a'"));
  EXPECT_THAT(product({numbers("a", {1, 1})}), HasSubstr("a=1"));
  EXPECT_THAT(product({numbers("a", {1}), numbers("a", {2})}), HasSubstr("'a'"));
  EXPECT_THAT(product({texts("a", {"x;y"})}), HasSubstr("a=x;y"));
  EXPECT_THAT(product({numbers("a", {1}, "b == 1"), numbers("b", {1})}), HasSubstr("before it"));
  EXPECT_THAT(error_of([] { SearchSpace::product({}, {{"odd", "1 +", ""}}); }), HasSubstr("rule 'odd'"));
  std::vector<Parameter> many;
  for (int i = 0; i < 64; ++i) many.push_back(numbers(fmt::format("p{}", i), {0, 1}));
  EXPECT_THAT(product(many), HasSubstr("2^63"));
  many.pop_back();
  EXPECT_EQ(SearchSpace::product(many, {}).at((uint64_t{1} << 63) - 1).integer("p62"), 1);
}

TEST(SearchSpace, WithValuesReplacesOneParameter) {
  const auto space = conditional().with_values("bm", {int64_t{128}});
  EXPECT_EQ(space.size(), 12u);
  EXPECT_EQ(space.rules().size(), 1u);
  EXPECT_THROW(space.with_values("bn", {int64_t{1}}), Error);
}

TEST(SearchSpace, SurvivesARoundTripThroughJson) {
  auto parameters = std::vector<Parameter>{numbers("bm", {16, -3}), texts("stage", {"[triton.gemm@1:bm=16]", "x"}),
                                           numbers("parts", {INT64_MIN, INT64_MAX}, "bm > 0")};
  parameters[1].part = 1;
  for (const auto& space : {SearchSpace::product(parameters, {{"id", "bm > 0", "because"}}), conditional(),
                            SearchSpace::product({}, {{"id", "device.x > 0", ""}}), SearchSpace(),
                            SearchSpace::listed({Config::parse("algo=7;kind=split"), Config()})}) {
    const auto again = SearchSpace::from_json(space.to_json());
    EXPECT_EQ(again, space) << space.to_json();
    EXPECT_EQ(again.size(), space.size());
    EXPECT_EQ(again.to_json(), space.to_json());
  }
}

TEST(SearchSpace, FeaturesSurviveCopiesAndJson) {
  const std::vector<Meaning> meanings = {{"bm", "rows", {{int64_t{16}, 64}, {std::string("auto"), INT64_MIN}}}};
  const std::vector<Feature> features = {{"work", "bm.rows * problem.k"}, {"time", "bm.rows", true}};
  for (const SearchSpace& plain : {conditional(), SearchSpace::listed({Config::parse("algo=7"), Config()})}) {
    const SearchSpace space = plain.with_features(meanings, features);
    EXPECT_NE(space, plain);
    EXPECT_EQ(space.size(), plain.size());
    const SearchSpace again = SearchSpace::from_json(space.to_json());
    EXPECT_EQ(again, space);
    EXPECT_THAT(again.meanings(), ElementsAreArray(meanings));
    EXPECT_THAT(again.features(), ElementsAreArray(features));
  }
  EXPECT_THAT(conditional().with_features(meanings, features).with_values("bm", {int64_t{128}}).features(),
              ElementsAreArray(features));
}

TEST(SearchSpace, RefusesFeaturesThatCannotBeReadOrAreThereTwice) {
  const auto error = [](std::vector<Meaning> meanings, std::vector<Feature> features) {
    return error_of([&] { conditional().with_features(std::move(meanings), std::move(features)); });
  };
  EXPECT_THAT(error({}, {{"work", "1 +"}}), HasSubstr("feature 'work'"));
  EXPECT_THAT(error({}, {{"work", "1"}, {"work", "2"}}), HasSubstr("'work' again"));
  EXPECT_THAT(error({{"bm", "rows", {}}, {"bm", "rows", {}}}, {}), HasSubstr("'bm.rows' again"));
}

TEST(SearchSpace, RefusesForeignJson) {
  for (const auto* text :
       {R"({"listed":{"rows":0,"columns":[]},"meanings":[{"parameter":"a","name":"b"}]})",
        R"({"listed":{"rows":0,"columns":[]},"meanings":[{"parameter":"a","name":"b","numbers":[[1]]}]})",
        R"({"listed":{"rows":0,"columns":[]},"meanings":[{"parameter":"a","name":"b","numbers":[[1,"x"]]}]})",
        R"({"listed":{"rows":0,"columns":[]},"features":[{"name":"a"}]})",
        R"({"listed":{"rows":0,"columns":[]},"features":[{"name":"a","expression":"("}]})",
        "",
        "{",
        "[]",
        "3",
        "{}",
        R"({"parameters":[{"name":"a"}]})",
        R"({"listed":3})",
        R"({"parameters":[{"name":"a","values":[1e99]}]})",
        R"({"listed":[]})",
        R"({"listed":{"rows":1}})",
        R"({"listed":{"rows":-1,"columns":[]}})",
        R"({"listed":{"rows":1,"columns":[{"name":"a","values":[[1]],"codes":[1]}]}})",
        R"({"listed":{"rows":1,"columns":[{"name":"a","values":[1],"codes":[2]}]}})",
        R"({"listed":{"rows":1,"columns":[{"name":"a","values":[1],"codes":[1.5]}]}})",
        R"({"listed":{"rows":2,"columns":[{"name":"a","values":[1],"codes":[1]}]}})",
        R"({"parameters":[{"name":"a","values":[18446744073709551615]}]})",
        R"({"parameters":[{"name":"a","values":[1],"binding":"never"}]})",
        R"({"parameters":[{"name":"a","values":[1]}],"rules":[{"id":"r"}]})",
        R"({"parameters":[{"name":"a","values":[1],"part":"x"}]})"}) {
    EXPECT_THAT(error_of([&] { SearchSpace::from_json(text); }), testing::Not("")) << text;
  }
}

TEST(SearchSpace, KeepsItsRuleSets) {
  const auto space = SearchSpace::product({{.name = "a", .values = {int64_t{1}}}}, {{"kernel", "a > 0", "r"}},
                                          {{"one", {{"x", "a < 3", "s"}}}, {"two", {}}});
  EXPECT_EQ(SearchSpace::from_json(space.to_json()), space);
  EXPECT_NE(space.with_rule_set("two"), space);
  EXPECT_EQ(space.with_values("a", {int64_t{2}}).rule_sets().size(), 2u);
  const auto listed = SearchSpace::listed({Config::parse("a=1")}).with_rule_set("two", {{"where", "a < 1", ""}});
  EXPECT_EQ(SearchSpace::from_json(listed.to_json()), listed);
  EXPECT_THROW(space.with_rule_set("one", {{"where", "a <", ""}}), Error);
  EXPECT_THROW(SearchSpace::product({}, {}, {{"one", {}}, {"one", {}}}), Error);
}

}  // namespace
}  // namespace attune
