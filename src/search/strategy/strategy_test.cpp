// SPDX-License-Identifier: MIT
#include "search/strategy/strategies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "base/error.h"
#include "base/random.h"

namespace attune {
namespace {

using testing::Contains;
using testing::Not;

/// Four numbers of `levels` values each.
SearchSpace grid(int64_t levels, std::vector<Rule> rules = {}) {
  std::vector<Value> values;
  for (int64_t value = 0; value < levels; ++value) values.push_back(value);
  std::vector<Parameter> parameters;
  for (const auto* name : {"a", "b", "c", "d"}) {
    parameters.push_back({name, values, Binding::launch_time, "", std::nullopt});
  }
  return SearchSpace::product(std::move(parameters), std::move(rules));
}
SearchSpace conditional() {
  return SearchSpace::product({{"split", {int64_t{0}, int64_t{1}}, Binding::launch_time, "", std::nullopt},
                               {"parts", {int64_t{2}, int64_t{4}}, Binding::launch_time, "split", std::nullopt}},
                              {});
}
StrategyOptions options_of(std::string_view name, uint64_t seed = 1, uint64_t max_trials = 96) {
  return {.name = std::string(name), .seed = seed, .max_trials = max_trials};
}
SearchTask task_of(SearchSpace space, std::vector<uint64_t> start = {}, DomainLimits limits = {}) {
  return {.domain = Domain(std::move(space), {}, {}, limits),
          .problem = {},
          .device = {},
          .solver = "a.solver",
          .start = std::move(start),
          .prior = {},
          .costs = {}};
}
/// A search of a whole space.
std::unique_ptr<Strategy> search_of(SearchSpace space, const StrategyOptions& options) {
  return make_strategy(task_of(std::move(space)), options);
}
/// A bowl-shaped function with its minimum, 100, at (5, 2, 6, 1).
double bowl_us(const SearchSpace& space, uint64_t index) {
  const auto config = space.at(index);
  double us = 100;
  for (const auto& [name, best] : {std::pair{"a", 5}, {"b", 2}, {"c", 6}, {"d", 1}}) {
    const auto distance = static_cast<double>(config.integer(name) - best);
    us += 4 * distance * distance;
  }
  return us;
}
/// Asks in batches and tells each result at once, to the end. Returns all indices asked for.
std::vector<uint64_t> drive(Strategy& strategy, const std::function<double(uint64_t)>& time_us = {}) {
  std::vector<uint64_t> asked;
  while (!strategy.exhausted()) {
    const auto batch = strategy.ask(16);
    EXPECT_LE(batch.size(), 16u);
    for (const auto index : batch) {
      asked.push_back(index);
      strategy.tell({.index = index, .median_us = time_us ? time_us(index) : 100});
    }
    if (batch.empty()) {
      EXPECT_TRUE(strategy.exhausted());
      break;
    }
  }
  EXPECT_TRUE(strategy.ask(16).empty());
  EXPECT_EQ(std::set(asked.begin(), asked.end()).size(), asked.size()) << "asked twice";
  return asked;
}

class AnyStrategy : public testing::TestWithParam<std::string_view> {};
INSTANTIATE_TEST_SUITE_P(Names, AnyStrategy, testing::ValuesIn(strategy_names()),
                         [](const auto& suite) { return std::string(suite.param); });

TEST_P(AnyStrategy, AsksForEveryAllowedConfigOfASmallSpaceOnce) {
  const auto space = grid(4, {{"odd", "a * 64 + b * 16 + c * 4 + d == 81 || a + b + c + d >= 11", ""}});
  const auto strategy = search_of(space, options_of(GetParam()));
  EXPECT_THAT(drive(*strategy), testing::UnorderedElementsAre(81, 191, 239, 251, 254, 255));
}

TEST_P(AnyStrategy, AsksForNoConfigTwiceThroughInactiveParameters) {
  const auto strategy = search_of(conditional(), options_of(GetParam()));
  EXPECT_THAT(drive(*strategy), testing::UnorderedElementsAre(0, 2, 3));
}

TEST_P(AnyStrategy, HasNothingToAskWhenPruningLeftNothing) {
  const auto strategy = search_of(grid(4, {{"none", "a > 4", ""}}), options_of(GetParam()));
  EXPECT_TRUE(strategy->ask(16).empty());
  EXPECT_TRUE(strategy->exhausted());
}

TEST_P(AnyStrategy, AsksForTheStartFirst) {
  // 1000 is beyond the space.
  const auto strategy = make_strategy(task_of(grid(4), {77, 5, 1000, 77}), options_of(GetParam()));
  const auto first = strategy->ask(16);
  ASSERT_GE(first.size(), 2u);
  EXPECT_EQ(first[0], 77u);
  EXPECT_EQ(first[1], 5u);
}

TEST_P(AnyStrategy, IsTheSameForTheSameSeedAndAnotherForAnother) {
  const auto space = grid(4);
  const auto asked = [&](uint64_t seed) {
    return drive(*search_of(space, options_of(GetParam(), seed)),
                 [&](uint64_t index) { return bowl_us(space, index); });
  };
  EXPECT_EQ(asked(1), asked(1));
  EXPECT_NE(asked(1), asked(2));
}

TEST_P(AnyStrategy, DoesNotAskForWhatItWasTold) {
  const auto strategy = search_of(grid(4), options_of(GetParam(), 1, 300));
  for (uint64_t index = 0; index < 250; ++index) strategy->tell({.index = index, .median_us = 100});
  EXPECT_THAT(drive(*strategy), testing::UnorderedElementsAre(250, 251, 252, 253, 254, 255));
}

TEST_P(AnyStrategy, EndsWhenEverythingFails) {
  const auto strategy = search_of(grid(4), options_of(GetParam()));
  for (int i = 0; i < 100 && !strategy->exhausted(); ++i) {
    for (const auto index : strategy->ask(16)) strategy->tell({.index = index, .status = Status::wrong_result});
  }
  EXPECT_TRUE(strategy->exhausted());
}

TEST(Strategy, AutoAsksASmallSpaceWholeAndALargeOneUpToMaxTrials) {
  EXPECT_EQ(drive(*search_of(grid(3), options_of("auto"))).size(), 81u);
  EXPECT_EQ(drive(*search_of(grid(4), options_of("auto"))).size(), 96u);
  EXPECT_EQ(drive(*search_of(grid(4), options_of("exhaustive"))).size(), 256u);
  EXPECT_EQ(drive(*search_of(grid(4), options_of("random", 1, 10))).size(), 10u);
}

TEST(Strategy, LocalSearchComesCloserToTheBottomOfABowlThanRandomSearch) {
  const auto space = grid(8);
  for (uint64_t seed = 0; seed < 5; ++seed) {
    const auto best_of = [&](std::string_view name) {
      double best = 1e9;
      drive(*search_of(space, options_of(name, seed)), [&](uint64_t index) {
        best = std::min(best, bowl_us(space, index));
        return bowl_us(space, index);
      });
      return best;
    };
    EXPECT_LE(best_of("local"), 104) << seed;  // at most one step away, after 96 of 4096
    EXPECT_LT(best_of("local"), best_of("random")) << seed;
  }
}

TEST(Strategy, AModelFindsTheBottomOfABowlWhereLocalSearchMayNot) {
  const auto space = grid(8);
  int num_found = 0;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    double best = 1e9;
    drive(*search_of(space, options_of("model", seed)), [&](uint64_t index) {
      best = std::min(best, bowl_us(space, index));
      return bowl_us(space, index);
    });
    EXPECT_LE(best, 104) << seed;
    num_found += best == 100;
  }
  EXPECT_GE(num_found, 4) << "of five, by 96 of 4096 configs";
}

TEST(Strategy, AModelIsNotHeldUpByRuggedTimes) {
  // A listed space of 6400 algorithms, whose times are a bowl that is 8 % rugged.
  std::vector<Config> rows;
  for (int tile = 0; tile < 40; ++tile) {
    for (int cluster = 0; cluster < 10; ++cluster) {
      for (int split = 0; split < 16; ++split)
        rows.push_back(Config::parse(fmt::format("cluster={};split={};tile={}", cluster, split, tile)));
    }
  }
  const auto space = SearchSpace::listed(rows);
  std::vector<double> times;
  for (uint64_t index = 0; index < space.size(); ++index) {
    const Config config = space.at(index);
    const auto off = [&](const char* name, double best, double scale) {
      const double steps = (static_cast<double>(config.integer(name)) - best) / scale;
      return steps * steps;
    };
    times.push_back(100 * (1 + off("tile", 29, 40) + off("cluster", 7, 10) + off("split", 5, 16)) *
                    (1 + 0.08 * Random(index).uniform()));
  }
  const double best = *std::ranges::min_element(times);
  const auto regret_of = [&](std::string_view name) {
    double sum = 0;
    for (uint64_t seed = 0; seed < 10; ++seed) {
      double found = 1e9;
      drive(*search_of(space, options_of(name, seed)), [&](uint64_t index) {
        found = std::min(found, times[index]);
        return times[index];
      });
      sum += found / best - 1;
    }
    return sum / 10;
  };
  EXPECT_LT(regret_of("model"), 0.015);
  EXPECT_LT(regret_of("model"), 0.7 * regret_of("local"));
  EXPECT_EQ(regret_of("auto"), regret_of("model"));
}

TEST(Strategy, AModelLeavesARegionInWhichConfigsFail) {
  const auto space = grid(8);
  const auto strategy = search_of(space, options_of("model"));
  int num_failed = 0, num_asked = 0;
  while (!strategy->exhausted()) {
    const auto batch = strategy->ask(8);
    if (batch.empty()) break;
    for (const auto index : batch) {
      const bool fails = space.at(index).integer("a") >= 4;  // The bottom of the bowl among them.
      num_failed += fails;
      ++num_asked;
      strategy->tell({.index = index,
                      .status = fails ? Status::launch_failed : Status::ok,
                      .median_us = fails ? 0 : bowl_us(space, index)});
    }
  }
  EXPECT_EQ(num_asked, 96);
  EXPECT_LT(num_failed, 32);
}

TEST(Strategy, AModelNamesABatchAndThenWaitsForTimes) {
  const auto space = grid(8);
  const auto strategy = search_of(space, options_of("model"));
  const auto first = strategy->ask(96);
  EXPECT_EQ(first.size(), 16u) << "what is spread";
  for (const auto index : first) strategy->tell({.index = index, .median_us = bowl_us(space, index)});
  EXPECT_EQ(strategy->ask(96).size(), 32u);
  EXPECT_TRUE(strategy->ask(16).empty());
  EXPECT_FALSE(strategy->exhausted());
  strategy->tell({.index = first[0], .median_us = 99});
  EXPECT_EQ(strategy->ask(16).size(), 16u);
}

TEST(Strategy, LocalSearchStartsFarApart) {
  const auto space = grid(8);
  const auto least_distance = [&](std::string_view name) {
    const auto batch = search_of(space, options_of(name))->ask(12);
    EXPECT_EQ(batch.size(), 12u);
    int64_t min = 100;
    for (size_t i = 0; i < batch.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        int64_t distance = 0;
        for (const auto* parameter : {"a", "b", "c", "d"}) {
          distance += std::abs(space.at(batch[i]).integer(parameter) - space.at(batch[j]).integer(parameter));
        }
        min = std::min(min, distance);
      }
    }
    return min;
  };
  EXPECT_GT(least_distance("local"), least_distance("random"));
  EXPECT_GE(least_distance("local"), 6);
}

TEST(Strategy, LocalSearchWaitsForAnswersBeforeItLeavesItToChance) {
  const auto strategy = search_of(grid(8), options_of("local"));
  std::vector<uint64_t> asked;
  for (int i = 0; i < 10; ++i) {
    for (const auto index : strategy->ask(16)) asked.push_back(index);
  }
  EXPECT_EQ(asked.size(), 24u);
  EXPECT_FALSE(strategy->exhausted());
  strategy->tell({.index = asked[0], .median_us = 100});
  const auto neighbours = grid(8).neighbours(asked[0]);
  const auto next = strategy->ask(4);
  ASSERT_EQ(next.size(), 4u);
  for (const auto index : next) EXPECT_THAT(neighbours, Contains(index));
}

TEST(Strategy, LocalSearchOfAResumedRunGoesOnWithTheNeighbours) {
  const auto space = grid(8);
  const auto strategy = search_of(space, options_of("local"));
  const auto centre = *space.index_of(Config::parse("a=4;b=4;c=4;d=4"));
  for (uint64_t index = 0; index < 30; ++index) strategy->tell({.index = index, .median_us = 300});
  strategy->tell({.index = centre, .median_us = 100});
  for (const auto index : strategy->ask(8)) EXPECT_THAT(space.neighbours(centre), Contains(index));
}

TEST(Strategy, LocalSearchForgetsACentreThatFailsLater) {
  const auto space = grid(8);
  const auto strategy = search_of(space, options_of("local", 1, 1000));
  for (uint64_t index = 0; index < 300; ++index) strategy->tell({.index = index, .status = Status::wrong_result});
  const auto far = *space.index_of(Config::parse("a=7;b=7;c=7;d=7"));
  const auto near = *space.index_of(Config::parse("a=4;b=4;c=4;d=4"));
  strategy->tell({.index = far, .median_us = 50});
  strategy->tell({.index = near, .median_us = 100});
  strategy->tell({.index = far, .status = Status::wrong_result});
  EXPECT_THAT(space.neighbours(near), Contains(strategy->ask(1).at(0)));
}

TEST(Strategy, AWholeSpaceOfAnySizeIsSearchedInLittleMemory) {
  std::vector<Parameter> parameters;
  for (int i = 0; i < 63; ++i) {
    parameters.push_back({fmt::format("p{}", i), {int64_t{0}, int64_t{1}}, Binding::launch_time, "", std::nullopt});
  }
  const auto space = SearchSpace::product(parameters, {});
  EXPECT_EQ(drive(*search_of(space, options_of("auto"))).size(), 96u);
}

TEST(Strategy, ListedSpacesAreSearchedByTheirAttributes) {
  std::vector<Config> rows;
  for (int algo = 0; algo < 20; ++algo) {
    for (int split = 0; split < 10; ++split)
      rows.push_back(Config::parse(fmt::format("algo={};split={}", algo, split)));
  }
  const auto space = SearchSpace::listed(rows);
  const auto asked = drive(*search_of(space, options_of("local", 3, 60)), [&](uint64_t index) {
    return space.at(index).integer("algo") == 7 ? 100.0 + static_cast<double>(space.at(index).integer("split")) : 500.0;
  });
  EXPECT_THAT(asked, Contains(*space.index_of(Config::parse("algo=7;split=0"))));
}

TEST(Strategy, RefusesAnUnknownName) { EXPECT_THROW(search_of(grid(2), options_of("genetic")), Error); }

}  // namespace
}  // namespace attune
