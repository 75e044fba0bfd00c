// SPDX-License-Identifier: MIT
#include "search/strategy/config_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace attune {
namespace {

using testing::ElementsAre;
using testing::FloatEq;

Value text(const char* words) { return std::string(words); }

const Problem kTiledProblem = Problem::parse("gemm_a16w16 m=232 n=4608 k=2048 dtype=bf16");

DeviceInfo device_of_units(int64_t num_units) {
  DeviceInfo device;
  device.num_units = num_units;
  return device;
}

ConfigPoints points_of(const SearchSpace& space) { return {space, kTiledProblem, device_of_units(132)}; }

/// Two tiles whose ids are neighbours and whose sizes are not, and one whose size nobody knows.
SearchSpace tiles() {
  return SearchSpace::listed({Config::parse("tile=183;splitk=1"), Config::parse("tile=187;splitk=1"),
                              Config::parse("tile=184;splitk=1"), Config::parse("tile=700;splitk=1")})
      .with_features(
          {{"tile", "rows", {{int64_t{183}, 144}, {int64_t{184}, 144}, {int64_t{187}, 144}}},
           {"tile", "columns", {{int64_t{183}, 64}, {int64_t{184}, 128}, {int64_t{187}, 320}}}},
          {{"waves", "ceil_div(ceil_div(problem.n, tile.rows) * ceil_div(problem.m, tile.columns), device.num_units)"},
           {"columns", "tile.columns"}});
}

TEST(ConfigPoints, NumbersAreRanksAndTextsAreNumbersOfTheirOwn) {
  const auto space = SearchSpace::product({{.name = "size", .values = {int64_t{16}, int64_t{8}, int64_t{128}}},
                                           {.name = "kind", .values = {text("dot"), text("tile"), text("stream")}}},
                                          {});
  ConfigPoints points = points_of(space);
  EXPECT_EQ(points.num_coordinates(), 2u);
  EXPECT_THAT(points.at(*space.index_of(Config::parse("size=8;kind=dot"))), ElementsAre(0, 0));
  EXPECT_THAT(points.at(*space.index_of(Config::parse("size=16;kind=tile"))), ElementsAre(0.5, 1));
  EXPECT_THAT(points.at(*space.index_of(Config::parse("size=128;kind=stream"))), ElementsAre(1, 2));
}

TEST(ConfigPoints, AnAttributeThatAConfigLacksIsAsFarAsCanBe) {
  const auto space =
      SearchSpace::listed({Config::parse("algo=1"), Config::parse("algo=1;split=2"), Config::parse("algo=7;split=16")});
  ConfigPoints points = points_of(space);
  const auto none = points.at(0), two = points.at(1), sixteen = points.at(2);
  EXPECT_EQ(coordinate_distance(none[1], two[1]), 1);
  EXPECT_EQ(coordinate_distance(none[1], sixteen[1]), 1);
  EXPECT_EQ(coordinate_distance(none[0], two[0]), 0);
}

TEST(ConfigPoints, WhatAllConfigsShareIsNoCoordinate) {
  const auto listed = SearchSpace::listed({Config::parse("algo=1;inner=0"), Config::parse("algo=2;inner=0")});
  EXPECT_EQ(points_of(listed).num_coordinates(), 1u);
  const auto product = SearchSpace::product(
      {{.name = "kind", .values = {text("dot")}}, {.name = "size", .values = {int64_t{1}, int64_t{2}}}}, {});
  EXPECT_EQ(points_of(product).num_coordinates(), 1u);
}

TEST(ConfigPoints, NumbersAreApartByTheirRanksAndByBeingDifferent) {
  EXPECT_EQ(coordinate_distance(0.5, 0.5), 0);
  EXPECT_THAT(coordinate_distance(0.25, 0.5), FloatEq(0.15F + 0.85F / 4));
  EXPECT_THAT(coordinate_distance(1, 0), FloatEq(1));
  EXPECT_EQ(coordinate_distance(2, 5), 1) << "texts";
}

TEST(ConfigPoints, WhatAnIdStandsForIsACoordinateByItsRank) {
  const auto space = tiles();
  ConfigPoints points = points_of(space);
  // The id, its rows and columns, and two features; the splits are the same for all.
  ASSERT_EQ(points.num_coordinates(), 5u);
  const auto of_183 = points.at(0), of_187 = points.at(1), of_184 = points.at(2), of_700 = points.at(3);
  EXPECT_THAT((std::vector{of_183[0], of_184[0], of_187[0], of_700[0]}), ElementsAre(0, 1.0F / 3, 2.0F / 3, 1));
  EXPECT_THAT((std::vector{of_183[2], of_184[2], of_187[2]}), ElementsAre(0, 0.5, 1));
  EXPECT_EQ(of_183[1], of_187[1]) << "both have 144 rows";
  EXPECT_EQ(coordinate_distance(of_700[1], of_183[1]), 1);
  EXPECT_EQ(coordinate_distance(of_700[2], of_183[2]), 1);
}

TEST(ConfigPoints, AFeatureIsALogarithmBetweenTheLeastAndTheMostOfTheSpace) {
  const auto space = tiles();
  ConfigPoints points = points_of(space);
  // 144×64 makes 128 tiles, one wave of 132 units; so do the larger ones.
  EXPECT_EQ(points.at(0)[3], points.at(1)[3]);
  EXPECT_THAT((std::vector{points.at(0)[4], points.at(1)[4]}), ElementsAre(0, FloatEq(1)));
  EXPECT_THAT(points.at(2)[4], FloatEq(static_cast<float>(1 / std::log2(5)))) << "128 of 64 to 320";
  EXPECT_EQ(coordinate_distance(points.at(3)[4], points.at(0)[4]), 1) << "nobody knows the size of tile 700";

  ConfigPoints few(space, kTiledProblem, device_of_units(64));
  EXPECT_THAT((std::vector{few.at(0)[3], few.at(1)[3]}), ElementsAre(1, 0)) << "two waves of 64 units, and one";
}

TEST(ConfigPoints, GroupsAreInTheOrderOfTheEstimate) {
  const auto listed = SearchSpace::listed({Config::parse("option=1;tile=64"), Config::parse("option=2;tile=16"),
                                           Config::parse("option=3;tile=64"), Config::parse("option=4")});
  const auto groups_of = [](const SearchSpace& space) {
    std::vector<std::vector<uint64_t>> groups;
    const Domain domain(space, kTiledProblem, device_of_units(132));
    for (const auto& group : points_of(space).groups_by_estimate(domain)) groups.push_back(group.configs);
    return groups;
  };
  EXPECT_THAT(groups_of(listed.with_features({}, {{"time", "tile * problem.m", true}})),
              ElementsAre(ElementsAre(1), ElementsAre(0, 2)))
      << "the fourth has no estimate";
  EXPECT_THAT(groups_of(listed.with_features({}, {{"work", "tile * problem.m"}})), testing::IsEmpty());
}

TEST(ConfigPoints, AFeatureThatIsNoPositiveNumberIsLacked) {
  for (const char* expression :
       {"bm - 16", "16 - bm", "'text'", "bm / (bm - 16) - 1", "problem.none", "bm - 32 + 0.5"}) {
    const auto space = SearchSpace::product({{.name = "bm", .values = {int64_t{16}, int64_t{32}}}}, {})
                           .with_features({}, {{"odd", expression, true}});
    EXPECT_EQ(points_of(space).at(0)[1], -2) << expression;
    const Domain domain(space, kTiledProblem, device_of_units(132));
    EXPECT_LE(points_of(space).groups_by_estimate(domain).size(), 1u) << expression;
  }
}

}  // namespace
}  // namespace attune
