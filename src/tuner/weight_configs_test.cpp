// SPDX-License-Identifier: MIT
#include "tuner/weight_configs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "device/fake/fake_device.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "solver/registry.h"
#include "testing/tuner_doubles.h"

namespace attune {
namespace {

/// Counts its requests.
class CountingExecutor final : public ForwardingExecutor {
 public:
  using ForwardingExecutor::ForwardingExecutor;
  void begin(Request request) override {
    ++num_requests;
    ForwardingExecutor::begin(std::move(request));
  }

  size_t num_requests = 0;
};

/// Interrupts the run at its first tick.
class EarlyInterrupt final : public TuneObserver {
 public:
  void progress(const Problem&, Phase, size_t) override {}
  void finished(const TuneResult&) override {}
  void tick() override { interrupted = true; }
  std::atomic<bool> interrupted = false;
};

TEST(WeightConfigs, AnInterruptEndsTheOpeningOfTheRows) {
  std::vector<TuneResult> results;
  for (int m = 1; m <= 3; ++m) {
    const auto problem = Problem::parse(fmt::format("gemm_a16w16 m={} n=16 k=16 dtype=fp32", m));
    TuneResult& result = results.emplace_back();
    result.problem = op_of(problem).normalise(problem, {});
    result.ending = Ending::decided;
    result.decision.emplace();
    result.decision->winner = Candidate::parse(fmt::format("fake.gemm@1:split_k={}", m));
  }
  FakeDevice device;
  LocalExecutor inner(device, registry());
  CountingExecutor executor(inner);
  const auto journal = open_memory_journal();
  EarlyInterrupt observer;
  WeightConfigs weights({{executor, *journal, nullptr, {}}}, {}, {}, observer);
  weights.settle(results, observer.interrupted);
  EXPECT_EQ(executor.num_requests, 1u);
  for (const TuneResult& result : results) {
    EXPECT_FALSE(result.decision);
    EXPECT_EQ(result.reason, "interrupted before its weight had one config");
  }
}

/// Two rows of each weight, with different winners; the race of each row drops the other's winner. `seconds`: the time
/// to settle them.
struct SettledRows {
  std::vector<TuneResult> results;
  std::vector<std::string> notices;
  double seconds = 0;
};

SettledRows settle_rows(const std::vector<int>& weights, double budget_s) {
  std::vector<WorkItem> items;
  for (const int n : weights) {
    for (const int m : {16, 128}) {
      const auto problem = Problem::parse(fmt::format("gemm_a16w16 m={} n={} k=64 dtype=fp32", m, n));
      WorkItem& item = items.emplace_back(WorkItem{.problem = op_of(problem).normalise(problem, {})});
      for (const int tile_m : {16, 32, 128})
        item.candidates.push_back(Candidate::parse(fmt::format("fake.gemm@1:split_k=1;tile_m={};tile_n=16", tile_m)));
    }
  }
  FakeDevice device;
  LocalExecutor inner(device, registry());
  CountingExecutor executor(inner);
  const auto journal = open_memory_journal();
  TestClock clock;
  SilentObserver observer;
  const std::atomic<bool> interrupted = false;
  TunerOptions how;
  how.protocol.require = Requirement::batch_invariant;
  how.contest.race.max_finalists = 1;
  how.contest.finals.looks = {4};  // Few samples of exact times say as much as many.
  how.contest.confirm.pairs = 4;
  how.contest.confirm.min_openings = how.contest.confirm.max_openings = 2;
  SettledRows settled;
  settled.results = Tuner(executor, *journal, how, clock).run(items, observer, interrupted);
  how.budget_s = budget_s;
  WeightConfigs configs({{executor, *journal, nullptr, {}}}, how, items, observer, clock);
  const double began_s = clock.now_s();
  configs.settle(settled.results, interrupted);
  settled.seconds = clock.now_s() - began_s;
  settled.notices = configs.notices();
  return settled;
}

TEST(WeightConfigs, AConfigThatLostTheRaceOfARowServesIt) {
  const SettledRows settled = settle_rows({16}, 0);
  EXPECT_TRUE(settled.notices.empty()) << settled.notices.front();
  ASSERT_TRUE(settled.results[0].decision && settled.results[1].decision);
  EXPECT_EQ(settled.results[0].decision->winner, settled.results[1].decision->winner);
}

TEST(WeightConfigs, AllWeightsTogetherKeepToTheBudget) {
  const SettledRows settled = settle_rows({16, 32, 48}, 0.1);
  EXPECT_LT(settled.seconds, 0.2);
  EXPECT_TRUE(settled.notices.empty()) << "no config is blamed for a lack of time: " << settled.notices.front();
  for (size_t i = 0; i < settled.results.size(); i += 2) {
    const TuneResult &one = settled.results[i], &other = settled.results[i + 1];
    EXPECT_TRUE(one.decision || one.ending == Ending::cut) << one.reason;
    ASSERT_EQ(one.decision.has_value(), other.decision.has_value()) << "a weight is published whole or not at all";
    EXPECT_EQ(one.decision ? one.decision->winner.name() : "", other.decision ? other.decision->winner.name() : "");
  }
}

TEST(WeightConfigs, AWeightWithARowThatWasCutIsNotPublished) {
  std::vector<TuneResult> results;
  for (int m = 1; m <= 3; ++m) {
    const auto problem = Problem::parse(fmt::format("gemm_a16w16 m={} n=16 k=16 dtype=fp32", m));
    TuneResult& result = results.emplace_back();
    result.problem = op_of(problem).normalise(problem, {});
    result.ending = m == 2 ? Ending::cut : Ending::decided;
    if (m == 2) continue;
    result.decision.emplace();
    result.decision->winner = Candidate::parse("fake.gemm@1:split_k=1");
  }
  FakeDevice device;
  LocalExecutor inner(device, registry());
  CountingExecutor executor(inner);
  const auto journal = open_memory_journal();
  SilentObserver observer;
  const std::atomic<bool> interrupted = false;
  WeightConfigs weights({{executor, *journal, nullptr, {}}}, {}, {}, observer);
  weights.settle(results, interrupted);
  for (const TuneResult& result : results) {
    EXPECT_FALSE(result.decision) << "the table may hold an older row of the one that was cut";
    EXPECT_EQ(result.ending, Ending::cut);
  }
  EXPECT_EQ(executor.num_requests, 0u);
}

}  // namespace
}  // namespace attune
