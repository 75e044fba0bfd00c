// SPDX-License-Identifier: MIT
// Strategies in spaces that are too large to enumerate.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <unordered_set>

#include "base/error.h"
#include "base/hash.h"
#include "search/strategy/strategies.h"

namespace attune {
namespace {

using testing::Contains;

/// Eight numbers of ten values each: 10^8 indices, whose digits are the values.
SearchSpace hundred_million(std::vector<Rule> rules) {
  std::vector<Value> values;
  for (int64_t value = 0; value < 10; ++value) values.emplace_back(value);
  std::vector<Parameter> parameters;
  for (int i = 0; i < 8; ++i) parameters.push_back({.name = fmt::format("p{}", i), .values = values});
  return SearchSpace::product(std::move(parameters), std::move(rules));
}
SearchTask large_task(SearchSpace space, std::vector<uint64_t> start, DomainLimits limits = {}) {
  return {.domain = Domain(std::move(space), {}, {}, limits),
          .problem = {},
          .device = {},
          .solver = "a.solver",
          .start = std::move(start),
          .prior = {},
          .costs = {}};
}
int64_t digit_of(uint64_t index, int place) {
  return static_cast<int64_t>(index / static_cast<uint64_t>(std::pow(10, 7 - place))) % 10;
}
/// A bowl with its minimum at 55555555.
double large_bowl_us(uint64_t index) {
  double us = 100;
  for (int place = 0; place < 8; ++place) us += static_cast<double>(std::abs(digit_of(index, place) - 5));
  return us;
}
/// Asks one after the other and tells each at once; returns all that were asked for.
std::vector<uint64_t> search_whole(Strategy& strategy) {
  std::vector<uint64_t> asked;
  while (!strategy.exhausted()) {
    const auto next = strategy.ask(1);
    if (next.empty()) break;
    asked.push_back(next.front());
    strategy.tell({.index = next.front(), .median_us = large_bowl_us(next.front())});
  }
  return asked;
}
/// Those of the indices that a sample of a million does not hold, which was once all that a search could reach.
std::vector<uint64_t> outside_a_sample(const std::vector<uint64_t>& indices) {
  std::unordered_set<uint64_t> outside(indices.begin(), indices.end());
  Random random(derive_seed(1, "prune"));
  for (int i = 0; i < 1'000'000; ++i) outside.erase(random.below(100'000'000));
  return {outside.begin(), outside.end()};
}

TEST(LargeSpace, LocalSearchReachesNeighboursOutsideAnySample) {
  const auto space = hundred_million({{"sum", "p0 + p1 >= 9", ""}, {"odd", "p7 % 2 == 1 || p0 < 9", ""}});
  const auto strategy = make_strategy(large_task(space, {54545454}), {.name = "local", .seed = 1, .max_trials = 200});
  const auto asked = search_whole(*strategy);
  EXPECT_EQ(asked.size(), 200u);
  for (const uint64_t index : asked) {
    EXPECT_GE(digit_of(index, 0) + digit_of(index, 1), 9) << index;
    EXPECT_TRUE(digit_of(index, 7) % 2 == 1 || digit_of(index, 0) < 9) << index;
  }
  EXPECT_THAT(asked, Contains(55555555)) << "one step after the other leads there";
  const auto unsampled = outside_a_sample(space.neighbours(55555555));
  EXPECT_GE(unsampled.size(), 10u);
  for (const uint64_t index : unsampled) EXPECT_THAT(asked, Contains(index));
}

TEST(LargeSpace, EveryStrategyAsksOnlyForWhatTheRulesAllow) {
  const auto space = hundred_million({{"sum", "p0 + p1 >= 15", ""}});
  for (const std::string_view name : strategy_names()) {
    const auto strategy = make_strategy(large_task(space, {12345678}), {.name = std::string(name), .max_trials = 50});
    const auto asked = strategy->ask(40);
    EXPECT_GE(asked.size(), name == "model" || name == "auto" ? 8u : 12u) << name;
    for (const uint64_t index : asked) EXPECT_GE(digit_of(index, 0) + digit_of(index, 1), 15) << name;
  }
}

TEST(LargeSpace, WhereRandomDrawsFindNothingASearchEndsWithASentence) {
  const auto space = hundred_million({{"one", "p0 + p1 + p2 + p3 + p4 + p5 + p6 + p7 == 72", ""}});
  for (const std::string_view name : strategy_names()) {
    const auto strategy =
        make_strategy(large_task(space, {}, {.max_rejected = 100}), {.name = std::string(name), .max_trials = 50});
    EXPECT_EQ(strategy->remark(), "") << name;
    EXPECT_TRUE(strategy->ask(10).empty()) << name;
    EXPECT_TRUE(strategy->exhausted()) << name;
    EXPECT_THAT(strategy->remark(), testing::HasSubstr("excluded 100 in a row")) << name;
  }
}

TEST(LargeSpace, WhereRandomDrawsFindNothingASearchGoesOnFromItsStart) {
  // A plane of a hundred configs through the space, which chance does not meet.
  const auto space = hundred_million({{"line", "p0 == 5 && p1 == 5 && p2 == 5 && p3 == 5 && p4 == 5 && p5 == 5", ""}});
  for (const char* name : {"local", "model"}) {
    const auto strategy = make_strategy(large_task(space, {55555500}, {.max_rejected = 100}),
                                        {.name = name, .seed = 1, .max_trials = 1000});
    const auto asked = search_whole(*strategy);
    EXPECT_EQ(asked.size(), 100u) << name << ": all that neighbourhoods lead to";
    EXPECT_TRUE(strategy->exhausted());
  }
}

TEST(LargeSpace, ASearchIsNotExhaustedWhileAResultMayShowItANeighbourhood) {
  const auto space = hundred_million({{"line", "p0 == 5 && p1 == 5 && p2 == 5 && p3 == 5 && p4 == 5 && p5 == 5", ""}});
  for (const char* name : {"local", "model"}) {
    const auto strategy = make_strategy(large_task(space, {55555500}, {.max_rejected = 100}), {.name = name});
    EXPECT_THAT(strategy->ask(10), testing::ElementsAre(55555500));
    EXPECT_FALSE(strategy->exhausted());
    strategy->tell({.index = 55555500, .median_us = 100});
    EXPECT_THAT(strategy->ask(10), testing::UnorderedElementsAre(55555501, 55555510));
  }
}

TEST(LargeSpace, ASearchWaitsForTheTimeOfADefaultConfigThatItWasTold) {
  const auto space = hundred_million({{"line", "p0 == 5 && p1 == 5 && p2 == 5 && p3 == 5 && p4 == 5 && p5 == 5", ""}});
  for (const char* name : {"local", "model"}) {
    const auto strategy = make_strategy(large_task(space, {55555500}, {.max_rejected = 100}), {.name = name});
    strategy->tell({.index = 55555500});  // admitted, not raced yet
    EXPECT_TRUE(strategy->ask(10).empty());
    EXPECT_FALSE(strategy->exhausted());
    strategy->tell({.index = 55555500, .median_us = 100});
    EXPECT_THAT(strategy->ask(10), testing::UnorderedElementsAre(55555501, 55555510));
  }
}

/// A library's list: 2,000 tiles under ids that say nothing, whose sizes are in the meanings, with four options each.
/// All configs of a tile are neighbours of all others with the same option.
class TilesById {
 public:
  TilesById() {
    std::vector<std::optional<int64_t>> row(2);
    Random random(7);
    std::vector<int64_t> ids(kTiles);
    std::iota(ids.begin(), ids.end(), int64_t{0});
    random.shuffle(ids);
    const std::string names[] = {"option", "tile"};
    ConfigTableBuilder rows(names);
    Meaning size{"tile", "size", {}};
    for (int64_t tile = 0; tile < kTiles; ++tile) {
      size.numbers.emplace_back(ids[static_cast<size_t>(tile)], tile + 1);
      for (int64_t option = 0; option < 4; ++option) {
        row = {option, ids[static_cast<size_t>(tile)]};
        rows.add(row);
      }
    }
    known_ = SearchSpace::listed(std::move(rows).build());
    said_ = known_.with_features({size}, {{"rounds", "ceil_div(12345, tile.size)"}});
    for (const auto& [id, number] : size.numbers) sizes_[std::get<int64_t>(id)] = number;
  }
  /// The best is 5.5: size 1000, option 2.
  double us(uint64_t index) const {
    const Config config = known_.at(index);
    const auto size = static_cast<double>(sizes_.at(config.integer("tile")));
    return 5.5 + 4 * std::abs(std::log2(size / 1000)) +
           0.5 * std::abs(static_cast<double>(config.integer("option") - 2));
  }
  /// The shortest time that a search finds.
  double best_us(bool with_meanings, uint64_t seed) const {
    const auto strategy = make_strategy(large_task(with_meanings ? said_ : known_, {0}),
                                        {.name = "model", .seed = seed, .max_trials = 40});
    double best = us(0);
    while (!strategy->exhausted()) {
      const auto asked = strategy->ask(8);
      if (asked.empty()) break;
      for (const uint64_t index : asked) {
        strategy->tell({.index = index, .median_us = us(index)});
        best = std::min(best, us(index));
      }
    }
    return best;
  }

 private:
  static constexpr int64_t kTiles = 2000;
  SearchSpace known_, said_;
  std::map<int64_t, int64_t> sizes_;
};

TEST(LargeSpace, AModelBeginsWhereTheEstimatedTimesAreShortest) {
  std::vector<Config> rows;
  for (int64_t tile = 0; tile < 500; ++tile) {
    for (int64_t option = 0; option < 4; ++option)
      rows.push_back(Config::parse(fmt::format("option={};tile={}", option, tile)));
  }
  // The shortest are tiles 300, 301, 299, 302 and so on.
  const auto space =
      SearchSpace::listed(rows).with_features({}, {{"time", "1 + max(2 * tile - 600, 601 - 2 * tile)", true}});
  const auto strategy = make_strategy(large_task(space, {7}), {.name = "model", .seed = 1, .max_trials = 96});
  const auto asked = strategy->ask(33);
  ASSERT_EQ(asked.size(), 33u);
  EXPECT_EQ(asked[0], 7u) << "what the search is given comes first";
  for (int64_t i = 0; i < 32; ++i) {
    const Config config = space.at(asked[static_cast<size_t>(i) + 1]);
    EXPECT_EQ(config.integer("tile"), i % 2 == 0 ? 300 - i / 2 : 301 + i / 2) << i;
    EXPECT_EQ(config.integer("option"), 0) << "the first of each group";
  }
}

TEST(LargeSpace, AModelUsesWhatIdsStandFor) {
  const TilesById tiles;
  double with = 0, without = 0;
  for (uint64_t seed = 0; seed < 5; ++seed) {
    with = std::max(with, tiles.best_us(true, seed));
    without = std::max(without, tiles.best_us(false, seed));
  }
  EXPECT_LT(with, 5.5 * 1.01) << "the best of 8,000 within 1 %, by 40 trials";
  EXPECT_GT(without, 5.5 * 1.02) << "ids alone lead to none";
}

}  // namespace
}  // namespace attune
