// SPDX-License-Identifier: MIT
#include "tuner/candidate_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "base/error.h"
#include "ops/op.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

const Problem kProduct = Problem::parse("gemm_a16w16 m=16 n=16 k=32 dtype=fp32 outdtype=fp32 bias=0");

/// A contender with the configs a=1 … a=`num_configs`.
Contender contender(std::string_view solver, int num_configs = 2) {
  Contender one;
  one.solver = solver;
  one.version = one.versions[one.solver] = std::string(1, '1');
  one.default_config = Config::parse("a=1");
  std::vector<Config> configs;
  for (int a = 1; a <= num_configs; ++a) configs.push_back(Config::parse(fmt::format("a={}", a)));
  one.space = SearchSpace::listed(std::move(configs));
  return one;
}
Candidate candidate_of(const std::string& solver, int a) {
  return {solver, "1", Config::parse(fmt::format("a={}", a))};
}

/// Asks for candidates one by one, up to `max_count`, and tells each at once. Returns how often each solver was asked.
std::map<std::string, int> asked_of(CandidateSource& source, int max_count,
                                    const std::function<double(const Candidate&)>& us_of) {
  std::map<std::string, int> counts;
  for (int i = 0; i < max_count; ++i) {
    for (const Candidate& candidate : source.ask(1)) {
      ++counts[candidate.solver];
      source.tell(candidate, {.median_us = us_of(candidate)});
    }
  }
  return counts;
}

TEST(CandidateSource, WhatIsBannedIsNotTriedAndSaid) {
  TunerOptions options;
  const auto banning = [&](std::vector<Ban> bans) {
    options.bans = std::make_shared<const BanList>(std::move(bans));
    CandidateSource source({.problem = kProduct}, {}, {contender("x.gemm", 3), contender("y.gemm")}, options,
                           {candidate_of("x.gemm", 3), {}});
    source.begin({});
    return source;
  };
  CandidateSource one = banning({{"x.gemm@1:a=3", "", "", "wrong"}, {"y.gemm@1:a=1", "", "", "slow"}});
  EXPECT_FALSE(one.incumbent());
  EXPECT_THAT(one.defaults(), ElementsAre(candidate_of("x.gemm", 1)));
  EXPECT_THAT(one.refusals(), ElementsAre("y.gemm@1:a=1 is banned: slow"));
  std::vector<Candidate> asked;
  for (int i = 0; i < 20; ++i) {
    for (const Candidate& candidate : one.ask(1)) {
      asked.push_back(candidate);
      one.tell(candidate, {.median_us = 1});
    }
  }
  EXPECT_THAT(asked, testing::Contains(candidate_of("x.gemm", 2)));
  EXPECT_THAT(asked, testing::Not(testing::Contains(candidate_of("x.gemm", 3))));
  EXPECT_THAT(asked, testing::Not(testing::Contains(candidate_of("y.gemm", 1))));
  EXPECT_THAT(one.remarks(),
              ElementsAre("not tried, x.gemm@1:a=3 is banned: wrong", "not tried, y.gemm@1:a=1 is banned: slow"));
  const CandidateSource other = banning({{"y.gemm", "", "", "all of it"}, {"z.gemm", "", "", "not here"}});
  EXPECT_THAT(other.defaults(), ElementsAre(candidate_of("x.gemm", 1)));
  EXPECT_EQ(other.versions_of("y.gemm"), nullptr);
  EXPECT_THAT(other.remarks(), ElementsAre("not tried, y.gemm is banned: all of it"));
}

/// A solver of a user's own kernels, without a default config.
Contender contender_without_default(std::string_view solver) {
  Contender one = contender(solver, 3);
  one.default_config = {};
  return one;
}

TEST(CandidateSource, AContenderWithoutADefaultIsSearchedAndNothingIsComparedWithIt) {
  CandidateSource source({.problem = kProduct}, {}, {contender("x.gemm"), contender_without_default("own.gemm")},
                         TunerOptions(), {});
  EXPECT_THAT(source.defaults(), ElementsAre(candidate_of("x.gemm", 1)));
  source.begin({});
  EXPECT_EQ(asked_of(source, 20, [](const Candidate&) { return 1; })["own.gemm"], 3);
}

TEST(CandidateSource, AContenderWhoseConfigsTheRulesLeaveOutIsNotTried) {
  Contender own = contender_without_default("own.gemm");
  own.space = own.space.with_rule_set("attune", {{"chosen", "0", "another kernel is tuned"}});
  CandidateSource source({.problem = kProduct}, {}, {contender("x.gemm"), own}, TunerOptions(), {});
  EXPECT_THAT(source.defaults(), ElementsAre(candidate_of("x.gemm", 1)));
  source.begin({});
  EXPECT_EQ(asked_of(source, 20, [](const Candidate&) { return 1; }), (std::map<std::string, int>{{"x.gemm", 2}}));
  EXPECT_TRUE(source.exhausted());
  EXPECT_THAT(source.remarks(), testing::IsEmpty());
}

/// The first correct one becomes the baseline.
TEST(CandidateSource, DefaultsComeInTheOrderOfTheFamilyWhateverTheIds) {
  std::vector<Contender> contenders;
  std::vector<std::string> wanted;
  for (const auto id : op_of(kProduct).family().baselines) wanted.emplace_back(id);
  ASSERT_FALSE(std::is_sorted(wanted.begin(), wanted.end())) << "ids in this order would show nothing";
  for (auto id = wanted.rbegin(); id != wanted.rend(); ++id) contenders.push_back(contender(*id));
  contenders.push_back(contender("a.unlisted"));
  wanted.emplace_back("a.unlisted");
  const CandidateSource source({.problem = kProduct}, {}, std::move(contenders), {}, {});
  std::vector<std::string> order;
  for (const Candidate& default_config : source.defaults()) order.push_back(default_config.solver);
  EXPECT_EQ(order, wanted);
}

/// The application's own operator is the first default: a winner must beat it, and a tie keeps it.
TEST(CandidateSource, TheStockOfAnApplicationIsTheFirstDefault) {
  const std::string stock(op_of(kProduct).family().stock);
  std::vector<Contender> contenders = {contender("onednn.gemm"), contender(stock)};
  EXPECT_EQ(default_candidate(kProduct, contenders), candidate_of("onednn.gemm", 1)) << "it serves by rows alone";
  EXPECT_EQ(baseline_candidate(kProduct, contenders), candidate_of(stock, 1));
  const CandidateSource source({.problem = kProduct}, {}, std::move(contenders), {}, {});
  EXPECT_THAT(source.defaults(), ElementsAre(candidate_of(stock, 1), candidate_of("onednn.gemm", 1)));
}

TEST(CandidateSource, BeginsWithWhatALibraryRecommends) {
  Contender one = contender("onednn.gemm", 500);
  for (const char* key : {"a=1", "a=150", "a=120", "a=nowhere"}) one.recommended.push_back(Config::parse(key));
  CandidateSource source({.problem = kProduct}, {}, {one}, {}, {.incumbent = candidate_of("onednn.gemm", 77)});
  EXPECT_THAT(source.recommended(), ElementsAre(candidate_of("onednn.gemm", 150), candidate_of("onednn.gemm", 120),
                                                Candidate{"onednn.gemm", "1", Config::parse("a=nowhere")}))
      << "without the default config";
  source.begin({});
  EXPECT_THAT(source.ask(4), ElementsAre(candidate_of("onednn.gemm", 1), candidate_of("onednn.gemm", 150),
                                         candidate_of("onednn.gemm", 120), candidate_of("onednn.gemm", 77)));
}

/// Two of three questions go to the solver with the best median, the third to the others in turn.
class TwoThirdsToTheBest final : public SolverAllocator {
 public:
  size_t next(std::span<const SolverState> solvers) override {
    std::vector<SolverState> rest(solvers.begin(), solvers.end());
    const auto best = std::min_element(rest.begin(), rest.end(), [](const SolverState& one, const SolverState& other) {
      return one.trials.best_us().value_or(1e9) < other.trials.best_us().value_or(1e9);
    });
    const bool is_favoured = best->trials.best_us() && num_questions_++ % 3 != 2;
    if (is_favoured && !best->idle) return static_cast<size_t>(best - rest.begin());
    const bool is_alone = std::all_of(rest.begin(), rest.end(),
                                      [&](const SolverState& one) { return one.idle || one.solver == best->solver; });
    best->idle = best->idle || !is_alone;
    return others_->next(rest);
  }

 private:
  std::unique_ptr<SolverAllocator> others_ = favour_leaders();
  size_t num_questions_ = 0;
};

TEST(CandidateSource, AnAllocatorDividesTheQuestionsByWhatTheSolversFound) {
  TunerOptions options;
  std::vector<Contender> contenders = {contender("a.one", 90), contender("b.two", 90), contender("c.three", 90)};
  const auto us_of = [](const Candidate& candidate) {
    return (candidate.solver == "b.two" ? 50.0 : 100.0) + static_cast<double>(candidate.config.integer("a"));
  };
  CandidateSource in_turn({.problem = kProduct}, {}, contenders, options, {});
  in_turn.begin({});
  EXPECT_THAT(asked_of(in_turn, 90, [](const Candidate&) { return 100.0; }),
              ElementsAre(testing::Pair("a.one", 30), testing::Pair("b.two", 30), testing::Pair("c.three", 30)));
  options.make_allocator = [] { return std::make_unique<TwoThirdsToTheBest>(); };
  CandidateSource favouring({.problem = kProduct}, {}, contenders, options, {});
  favouring.begin({});
  favouring.tell(candidate_of("b.two", 1), {.median_us = 51});
  EXPECT_THAT(asked_of(favouring, 90, us_of),
              ElementsAre(testing::Pair("a.one", 15), testing::Pair("b.two", 60), testing::Pair("c.three", 15)));
  // The favoured solver has no more than 29 left, the others get the rest.
  EXPECT_THAT(asked_of(favouring, 90, us_of),
              ElementsAre(testing::Pair("a.one", 31), testing::Pair("b.two", 29), testing::Pair("c.three", 30)));
}

TEST(CandidateSource, WhatASolverThatIsBehindLeavesGoesToTheOthers) {
  const auto us_of = [](const Candidate& candidate) { return candidate.solver == "a.one" ? 130.0 : 100.0; };
  CandidateSource source({.problem = kProduct}, {},
                         {contender("a.one", 500), contender("b.two", 500), contender("c.three", 40)}, {}, {});
  source.begin({});
  // A candidate that is told without being asked for counts once.
  source.tell(candidate_of("a.one", 1), {.median_us = 130});
  source.tell(candidate_of("a.one", 1), {.median_us = 130});
  const auto counts = asked_of(source, 500, us_of);
  EXPECT_EQ(counts.at("a.one") + counts.at("b.two") + counts.at("c.three"), 96 + 96 + 40 - 1) << "together as planned";
  EXPECT_EQ(counts.at("c.three"), 40);
  EXPECT_THAT(counts.at("a.one"), testing::AllOf(testing::Ge(30), testing::Le(45)));
  EXPECT_GT(counts.at("b.two"), 140);
  EXPECT_TRUE(source.exhausted());
}

TEST(CandidateSource, ASolverAloneTriesWhatItPlans) {
  CandidateSource source({.problem = kProduct}, {}, {contender("a.one", 500)}, {}, {});
  source.begin({});
  EXPECT_EQ(asked_of(source, 500, [](const Candidate&) { return 1.0; }).at("a.one"), 96);
  EXPECT_TRUE(source.exhausted());
}

/// Asks in order while one more candidate, at the mean cost of those so far, stays within its time.
class Thrifty final : public Strategy {
 public:
  Thrifty(SearchTask task, double time_s) : task_(std::move(task)), log_(task_.costs), time_s_(time_s) {}
  std::vector<uint64_t> ask(size_t max_count) override {
    std::vector<uint64_t> asked;
    while (asked.size() < max_count && !exhausted()) asked.push_back(next_++);
    return asked;
  }
  void tell(const Trial& trial) override { log_.add(trial); }
  bool exhausted() const override {
    const Costs one = log_.costs();
    return next_ == task_.space().size() || static_cast<double>(next_ + 1) * (one.prepare_s + one.timing_s) > time_s_;
  }
  std::string remark() const override { return "it has no time left"; }

 private:
  SearchTask task_;
  TrialLog log_;
  double time_s_;
  uint64_t next_ = 0;
};

TEST(CandidateSource, AStrategySeesWhatCandidatesCostBeforeTheSearchAndInIt) {
  TunerOptions options;
  options.make_strategy = [](SearchTask task, const StrategyOptions&) {
    return std::make_unique<Thrifty>(std::move(task), 10);
  };
  CandidateSource source({.problem = kProduct}, {}, {contender("a.one", 90), contender("b.two", 90)}, options, {});
  source.begin({.trials = {}, .costs = {{"a.one", {.prepare_s = 1, .timing_s = 1}}, {"b.two", {.prepare_s = 5}}}});
  EXPECT_EQ(source.ask(100).size(), 5u + 2u);
  source.tell(candidate_of("a.one", 1), {.prepare_s = 0.25, .timing_s = 0.25});
  EXPECT_EQ(source.ask(100).size(), 15u) << "20 of half a second are affordable";
  EXPECT_TRUE(source.exhausted());
  EXPECT_EQ(source.costs().at("a.one").prepare_s, 0.25);
  EXPECT_EQ(source.costs().at("b.two").prepare_s, 5);
  EXPECT_THAT(source.remarks(), ElementsAre("a.one: it has no time left", "b.two: it has no time left"));
}

TEST(CandidateSource, AStrategyGetsItsTask) {
  std::vector<SearchTask> tasks;
  TunerOptions options;
  options.strategy.seed = 5;
  options.make_strategy = [&](SearchTask task, const StrategyOptions& given) {
    tasks.push_back(task);
    return make_strategy(std::move(task), given);
  };
  DeviceInfo device;
  device.gfx = "here";
  const StartingPoints start{.incumbent = candidate_of("a.one", 4), .neighbours = {candidate_of("a.one", 3)}};
  CandidateSource source({.problem = kProduct}, device, {contender("a.one", 6), contender("b.two")}, options, start);
  source.begin({.trials = {{candidate_of("a.one", 2), {.median_us = 70, .spread = 0.25, .num_samples = 8}},
                           {candidate_of("b.two", 2), {.status = Status::crashed}},
                           {candidate_of("a.one", 99), {.median_us = 1}},
                           {{"a.one", "0", Config::parse("a=5")}, {.median_us = 1}}},
                .costs = {}});
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0].solver, "a.one");
  EXPECT_EQ(tasks[0].problem, kProduct);
  EXPECT_EQ(tasks[0].device.gfx, "here");
  EXPECT_EQ(tasks[0].space().size(), 6u);
  EXPECT_THAT(tasks[0].start, ElementsAre(0, 3, 2));
  ASSERT_EQ(tasks[0].prior.size(), 1u) << "one is of no config, one of another version";
  EXPECT_EQ(tasks[0].prior[0].index, 1u);
  EXPECT_EQ(tasks[0].prior[0].median_us, 70);
  EXPECT_EQ(tasks[0].prior[0].spread, 0.25);
  EXPECT_EQ(tasks[0].prior[0].num_samples, 8u);
  ASSERT_EQ(tasks[1].prior.size(), 1u);
  EXPECT_EQ(tasks[1].prior[0].status, Status::crashed);
}

TEST(CandidateSource, ASearchWhoseRulesLeaveNothingSaysSo) {
  std::vector<Value> values;
  for (int64_t value = 0; value < 2000; ++value) values.emplace_back(value);
  Contender sparse = contender("a.one");
  sparse.space = SearchSpace::product({{.name = "a", .values = values}, {.name = "b", .values = values}},
                                      {{"none", "a > 3000", ""}});
  TunerOptions options;
  CandidateSource source({.problem = kProduct}, {}, {sparse, contender("b.two")}, options, {});
  source.begin({});
  EXPECT_THAT(source.remarks(), testing::IsEmpty());
  EXPECT_EQ(source.ask(10).size(), 2u);
  EXPECT_TRUE(source.exhausted());
  EXPECT_THAT(source.remarks(), ElementsAre(HasSubstr("a.one: no more configs are drawn at random")));
}

}  // namespace
}  // namespace attune
