// SPDX-License-Identifier: MIT
// Fresh workers for the confirm, of one problem and of two that are open together.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "device/fake/fake_device.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "solver/registry.h"
#include "testing/tuner_doubles.h"
#include "tuner/tuner.h"

namespace attune {
namespace {

/// Counts its requests.
class WatchedExecutor final : public ForwardingExecutor {
 public:
  using ForwardingExecutor::ForwardingExecutor;
  void begin(Request request) override {
    num_admissions += std::holds_alternative<request::Admit>(request);
    if (const auto* sample = std::get_if<request::Sample>(&request)) num_turns += sample->schedule.size();
    if (std::holds_alternative<request::Recycle>(request)) {
      ++num_recycles;
      if (at_recycle) at_recycle();
    }
    ForwardingExecutor::begin(std::move(request));
  }
  void prefetch(std::optional<request::Open> open) override {
    if (open) prefetched.push_back(open->problem.integer("m"));
  }

  std::function<void()> at_recycle;
  std::vector<int64_t> prefetched;
  size_t num_recycles = 0, num_admissions = 0, num_turns = 0;
};

/// Keeps the latest phase of each problem.
class PhaseObserver final : public TuneObserver {
 public:
  void progress(const Problem& problem, Phase phase, size_t) override { phases[problem.key()] = phase; }
  void finished(const TuneResult&) override {}
  std::map<std::string, Phase> phases;
};

class TunerOpenings : public testing::Test {
 protected:
  TunerOpenings() { options_.contest.confirm.delay_s = 5; }
  static WorkItem item(int m) {
    const auto problem = Problem::parse(fmt::format("gemm_a16w16 m={} n=16 k=32 dtype=fp32", m));
    return {.problem = op_of(problem).normalise(problem, {})};
  }
  std::vector<TuneResult> run(const std::vector<WorkItem>& items) {
    const auto journal = open_memory_journal();
    return Tuner(executor_, *journal, options_, clock_).run(items, observer_, interrupted_);
  }

  FakeDevice device_;
  LocalExecutor inner_{device_, registry()};
  WatchedExecutor executor_{inner_};
  TunerOptions options_;
  TestClock clock_;
  SilentObserver observer_;
  std::atomic<bool> interrupted_ = false;
};

TEST_F(TunerOpenings, AProblemIsConfirmedInThreeFreshWorkers) {
  const auto result = run({item(16)}).front();
  ASSERT_EQ(result.ending, Ending::decided) << result.reason;
  EXPECT_EQ(result.decision->verdict, Verdict::faster);
  EXPECT_EQ(result.decision->num_openings, 3u);
  EXPECT_FALSE(result.decision->pause_cut);
  EXPECT_EQ(executor_.num_recycles, 3u);
}

TEST_F(TunerOpenings, ARecycleServesBothOpenProblemsAndCostsNeitherItsFinal) {
  run({item(16)});
  const size_t turns_alone = executor_.num_turns;
  executor_.num_recycles = executor_.num_turns = 0;
  for (const TuneResult& result : run({item(16), item(17), item(18), item(19)})) {
    ASSERT_EQ(result.ending, Ending::decided) << result.reason;
    EXPECT_EQ(result.decision->num_openings, 3u);
  }
  EXPECT_LT(executor_.num_recycles, 4u * 3) << "some serve two problems";
  EXPECT_GE(executor_.num_recycles, 4u);
  EXPECT_LT(executor_.num_turns, 5 * turns_alone) << "nothing is measured again for another problem's worker";
}

TEST_F(TunerOpenings, TheExecutorIsToldWhichProblemComesNextWheneverOneBegins) {
  run({item(16), item(17), item(18)});
  EXPECT_EQ(executor_.prefetched, (std::vector<int64_t>{17, 18}));
}

TEST_F(TunerOpenings, AConfirmWhosePauseABudgetCutSaysSo) {
  options_.budget_s = 8;  // the pause of 5 s would leave too little
  const auto result = run({item(16)}).front();
  ASSERT_EQ(result.ending, Ending::decided) << result.reason;
  EXPECT_EQ(result.decision->verdict, Verdict::faster);
  EXPECT_TRUE(result.decision->pause_cut);
}

TEST_F(TunerOpenings, ABudgetThatEndsInARecycleIsATie) {
  options_.budget_s = 100;
  executor_.at_recycle = [&] { clock_.sleep_s(200); };
  const auto result = run({item(16)}).front();
  ASSERT_EQ(result.ending, Ending::decided) << result.reason;
  EXPECT_EQ(result.decision->verdict, Verdict::tie);
  EXPECT_TRUE(result.decision->incomplete);
  EXPECT_EQ(executor_.num_recycles, 1u);
}

TEST_F(TunerOpenings, AnInterruptInARecycleDecidesNothing) {
  executor_.at_recycle = [&] { interrupted_ = true; };
  const auto result = run({item(16)}).front();
  EXPECT_EQ(result.ending, Ending::cut);
  EXPECT_FALSE(result.decision);
  EXPECT_EQ(executor_.num_recycles, 1u);
}

TEST_F(TunerOpenings, AProblemWaitsForTheFinalsOfTheOtherBeforeItsWorkerIsReplaced) {
  options_.contest.confirm.delay_s = 0;
  const std::vector<WorkItem> items = {item(16), item(17)};
  const auto journal = open_memory_journal();
  PhaseObserver observer;
  std::vector<Phase> phases;
  executor_.at_recycle = [&] { phases.push_back(observer.phases[items[1].problem.key()]); };
  Tuner(executor_, *journal, options_, clock_).run(items, observer, interrupted_);
  ASSERT_EQ(phases.size(), 3u) << "each serves both";
  EXPECT_EQ(phases.front(), Phase::confirm);
}

}  // namespace
}  // namespace attune
