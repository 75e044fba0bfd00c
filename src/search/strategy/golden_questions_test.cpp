// SPDX-License-Identifier: MIT
// The questions that the strategies ask, in their order: a changed list voids the comparison with every earlier run.
#include <gtest/gtest.h>

#include "search/strategy/strategies.h"
#include "testing/golden_search.h"

namespace attune {
namespace {

/// Asks in batches of changing size to the end, or for 250 configs. A batch is told when the next one was asked for, as
/// if it were measured meanwhile.
std::vector<uint64_t> questions_of(Strategy& strategy, const GoldenSpace& golden) {
  constexpr size_t kMost = 250, kBatches[] = {1, 3, 8};
  std::vector<uint64_t> asked, untold;
  for (size_t i = 0; asked.size() < kMost && !strategy.exhausted(); ++i) {
    auto batch = strategy.ask(kBatches[i % std::size(kBatches)]);
    for (const uint64_t index : untold) {
      const auto [status, us] = planted_result(golden.space, index);
      strategy.tell({.index = index, .status = status, .median_us = us});
    }
    if (batch.empty() && untold.empty()) break;
    asked.insert(asked.end(), batch.begin(), batch.end());
    untold = std::move(batch);
  }
  return asked;
}

TEST(GoldenQuestions, EveryStrategyAsksWhatItHasAlwaysAsked) {
  std::vector<std::string> lines;
  for (const GoldenSpace& golden : golden_spaces()) {
    const SearchTask task{.domain = Domain(golden.space, golden.problem, golden.device),
                          .problem = golden.problem,
                          .device = golden.device,
                          .solver = golden.name,
                          .start = golden.start,
                          .prior = {},
                          .costs = {}};
    for (const std::string_view name : strategy_names()) {
      for (const uint64_t seed : {1, 2}) {
        const auto strategy = make_strategy(task, {.name = std::string(name), .seed = seed, .max_trials = 96});
        strategy->tell({.index = golden.start.front()});  // the default config, which is tried first
        std::string line = fmt::format("{} {} {}:", golden.name, name, seed);
        for (const uint64_t index : questions_of(*strategy, golden)) line += fmt::format(" {}", index);
        lines.push_back(std::move(line));
      }
    }
  }
  expect_golden("src/search/strategy/golden_questions.txt", lines,
                "a strategy asks other questions than before for the same seed");
}

}  // namespace
}  // namespace attune
