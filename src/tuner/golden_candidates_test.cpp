// SPDX-License-Identifier: MIT
// The candidates that the solvers of a problem are asked for, in their order.
#include <gtest/gtest.h>

#include "testing/golden_search.h"
#include "tuner/candidate_source.h"

namespace attune {
namespace {

/// Solvers with spaces of different sizes; the smallest are exhausted first.
std::vector<Contender> golden_contenders() {
  std::vector<Contender> contenders;
  for (const char* name : {"fake", "jit_invariant", "listed", "jit_packed"}) {
    const GoldenSpace golden = golden_space(name);
    Contender one;
    one.solver = std::string(name) + ".gemm";
    one.version = one.versions[one.solver] = std::string(1, '1');
    one.space = golden.space;
    one.default_config = golden.space.at(golden.start.front());
    contenders.push_back(std::move(one));
  }
  return contenders;
}

/// Asks in batches of changing size, and tells a batch when the next one was asked for. Returns `solver:index` of each.
std::string candidates_of(CandidateSource& source, const std::vector<Contender>& contenders) {
  constexpr size_t kMost = 350, kBatches[] = {1, 5, 12};
  std::string line;
  std::vector<Candidate> untold;
  size_t num_asked = 0;
  for (size_t i = 0; num_asked < kMost && !source.exhausted(); ++i) {
    auto batch = source.ask(kBatches[i % std::size(kBatches)]);
    for (const Candidate& candidate : untold) {
      const SearchSpace& space = find_contender(contenders, candidate.solver)->space;
      const auto [status, us] = planted_result(space, *space.index_of(candidate.config));
      source.tell(candidate, {.status = status, .median_us = us});
    }
    if (batch.empty() && untold.empty()) break;
    for (const Candidate& candidate : batch) {
      const Contender& contender = *find_contender(contenders, candidate.solver);
      line += fmt::format(" {}:{}", first_part(candidate.solver), *contender.space.index_of(candidate.config));
    }
    num_asked += batch.size();
    untold = std::move(batch);
  }
  return line;
}

TEST(GoldenCandidates, SolversAreAskedInAKnownOrder) {
  const GoldenSpace golden = golden_space("jit_packed");
  const auto contenders = golden_contenders();
  const Candidate winner{"listed.gemm", "1", golden_space("listed").space.at(40)};
  const StartingPoints start{.incumbent = Candidate{"fake.gemm", "1", golden_space("fake").space.at(5)},
                             .neighbours = {winner}};
  std::vector<std::string> lines;
  for (const char* strategy : {"auto", "exhaustive", "random", "local", "model"}) {
    for (const bool split_k : {true, false}) {
      TunerOptions options;
      options.strategy = {.name = strategy, .seed = 3, .max_trials = 60};
      options.split_k = split_k;
      CandidateSource source({.problem = golden.problem}, golden.device, contenders, options, start);
      source.begin({});
      for (const Candidate& default_config : source.defaults()) source.tell(default_config, {});
      lines.push_back(fmt::format("{} split_k={}:{}", strategy, split_k ? 1 : 0, candidates_of(source, contenders)));
    }
  }
  expect_golden("src/tuner/golden_candidates.txt", lines, "the solvers of a problem are asked in another order");
}

}  // namespace
}  // namespace attune
