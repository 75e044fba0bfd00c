// SPDX-License-Identifier: MIT
#include "search/strategy/config_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace attune {
namespace {

using testing::ElementsAre;
using testing::FloatEq;

Value text(const char* words) { return std::string(words); }

TEST(ConfigPoints, NumbersAreRanksAndTextsAreNumbersOfTheirOwn) {
  const auto space = SearchSpace::product({{.name = "size", .values = {int64_t{16}, int64_t{8}, int64_t{128}}},
                                           {.name = "kind", .values = {text("dot"), text("tile"), text("stream")}}},
                                          {});
  const ConfigPoints points(space);
  EXPECT_EQ(points.num_coordinates(), 2u);
  EXPECT_THAT(points.at(*space.index_of(Config::parse("size=8;kind=dot"))), ElementsAre(0, 0));
  EXPECT_THAT(points.at(*space.index_of(Config::parse("size=16;kind=tile"))), ElementsAre(0.5, 1));
  EXPECT_THAT(points.at(*space.index_of(Config::parse("size=128;kind=stream"))), ElementsAre(1, 2));
}

TEST(ConfigPoints, AnAttributeThatAConfigLacksIsAsFarAsCanBe) {
  const auto space =
      SearchSpace::listed({Config::parse("algo=1"), Config::parse("algo=1;split=2"), Config::parse("algo=7;split=16")});
  const ConfigPoints points(space);
  const auto none = points.at(0), two = points.at(1), sixteen = points.at(2);
  EXPECT_EQ(coordinate_distance(none[1], two[1]), 1);
  EXPECT_EQ(coordinate_distance(none[1], sixteen[1]), 1);
  EXPECT_EQ(coordinate_distance(none[0], two[0]), 0);
}

TEST(ConfigPoints, NumbersAreApartByTheirRanksAndByBeingDifferent) {
  EXPECT_EQ(coordinate_distance(0.5, 0.5), 0);
  EXPECT_THAT(coordinate_distance(0.25, 0.5), FloatEq(0.15F + 0.85F / 4));
  EXPECT_THAT(coordinate_distance(1, 0), FloatEq(1));
  EXPECT_EQ(coordinate_distance(2, 5), 1) << "texts";
}

}  // namespace
}  // namespace attune
