// SPDX-License-Identifier: MIT
#include "tuner/candidate_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "ops/op.h"

namespace attune {
namespace {

Contender contender(std::string_view solver) {
  Contender one;
  one.solver = solver;
  one.version = one.versions[one.solver] = std::string(1, '1');
  one.untuned = Config::parse("a=1");
  one.space = SearchSpace::listed({Config::parse("a=1"), Config::parse("a=2")});
  return one;
}

/// The first correct one becomes the baseline.
TEST(CandidateSource, DefaultsComeInTheOrderOfTheFamilyWhateverTheIds) {
  const auto problem = Problem::parse("gemm_a16w16 m=16 n=16 k=32 dtype=fp32 outdtype=fp32 bias=0");
  std::vector<Contender> contenders;
  std::vector<std::string> wanted;
  for (const auto id : op_of(problem).family().baselines) wanted.emplace_back(id);
  ASSERT_FALSE(std::is_sorted(wanted.begin(), wanted.end())) << "ids in this order would show nothing";
  for (auto id = wanted.rbegin(); id != wanted.rend(); ++id) contenders.push_back(contender(*id));
  contenders.push_back(contender("a.unlisted"));
  wanted.emplace_back("a.unlisted");
  const CandidateSource source({.problem = problem}, {}, std::move(contenders), {}, {});
  std::vector<std::string> order;
  for (const Candidate& untuned : source.untuned()) order.push_back(untuned.solver);
  EXPECT_EQ(order, wanted);
}

}  // namespace
}  // namespace attune
