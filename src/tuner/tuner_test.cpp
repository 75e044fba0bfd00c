// SPDX-License-Identifier: MIT
// The whole loop on the fake device: real verification, virtual times, a journal in memory, a clock that does not wait.
#include "tuner/tuner.h"
#include "testing/tuner_doubles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "device/fake/fake_device.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "solver/registry.h"
#include "testing/planted_gemm.h"
#include "tuner/history/neighbours.h"

namespace attune {
namespace {

Problem problem(int m, int n = 16, int k = 32) {
  const auto text =
      "gemm_a16w16 m=" + std::to_string(m) + " n=" + std::to_string(n) + " k=" + std::to_string(k) + " dtype=fp32";
  return op_of(Problem::parse(text)).normalise(Problem::parse(text), {});
}

/// A solver of the fake device whose config gives the duration of a run, the run in which it starts to fail, and the
/// seconds that it takes to load.
class MortalSolver final : public Solver {
 public:
  MortalSolver(std::string id, std::vector<std::string> rows, Clock* clock = nullptr)
      : id_(std::move(id)), rows_(std::move(rows)), clock_(clock) {}
  std::string_view id() const override { return id_; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "dies in a given run"; }
  Support supports(const Problem&, const DeviceInfo&) const override { return {}; }
  std::unique_ptr<Backend> open(Device& device) const override {
    return std::make_unique<MortalBackend>(id_, rows_, dynamic_cast<FakeDevice&>(device), clock_);
  }

 private:
  class MortalPlan final : public Plan {
   public:
    MortalPlan(std::unique_ptr<PlantedGemm> kernel, int64_t dies) : kernel_(std::move(kernel)), left_(dies) {}
    const PlanTraits& traits() const noexcept override { return kernel_->traits(); }
    void run(const Launch& launch) const override {
      if (left_-- == 0) fail(ErrorCode::device, "planted death");
      kernel_->run(launch);
    }

   private:
    std::unique_ptr<PlantedGemm> kernel_;
    mutable int64_t left_;
  };
  class MortalBackend final : public Backend {
   public:
    MortalBackend(std::string id, std::vector<std::string> rows, FakeDevice& device, Clock* clock)
        : id_(std::move(id)), rows_(std::move(rows)), device_(device), clock_(clock) {}
    Versions versions() const override { return {{id_, "1"}}; }
    SearchSpace space(const Problem&) override {
      std::vector<Config> configs;
      for (const auto& row : rows_) configs.push_back(Config::parse(row));
      return SearchSpace::listed(std::move(configs));
    }
    Config default_config(const Problem&) override { return Config::parse(rows_.front()); }
    std::vector<Config> recommended(const Problem& one) override {
      std::vector<Config> found;
      const SearchSpace all = space(one);
      for (uint64_t i = 0; i < all.size(); ++i) {
        if (all.at(i).has("recommended")) found.push_back(all.at(i));
      }
      return found;
    }
    std::unique_ptr<Plan> prepare(const Problem& one, const Config& config, const PrepareContext&) override {
      if (config.has("load_s") && clock_ != nullptr) clock_->sleep_s(static_cast<double>(config.integer("load_s")));
      if (config.has("unloadable")) fail(ErrorCode::io, "planted: it does not load now");
      auto kernel = std::make_unique<PlantedGemm>(
          GemmShape::of(one), Fault::none,
          [this, us = static_cast<double>(config.integer("us"))] { device_.advance_us(us); });
      return std::make_unique<MortalPlan>(std::move(kernel), config.has("dies") ? config.integer("dies") : -1);
    }

   private:
    std::string id_;
    std::vector<std::string> rows_;
    FakeDevice& device_;
    Clock* clock_;
  };
  std::string id_;
  std::vector<std::string> rows_;
  Clock* clock_;
};

/// Tunes one problem with the given solvers.
TuneResult tune_with(std::vector<std::unique_ptr<Solver>> solvers, Journal& journal, const TunerOptions& options = {}) {
  FakeDevice device;
  Registry mortal;
  for (auto& solver : solvers) mortal.add(std::move(solver));
  LocalExecutor executor(device, mortal);
  TestClock clock;
  SilentObserver observer;
  std::atomic<bool> interrupted = false;
  return Tuner(executor, journal, options, clock).run({{.problem = problem(16, 48)}}, observer, interrupted).front();
}

/// Registers the solvers under the ids of the family's baselines, in their order.
std::vector<std::unique_ptr<Solver>> mortal(std::vector<std::string> first, std::vector<std::string> second) {
  std::vector<std::unique_ptr<Solver>> solvers;
  solvers.push_back(std::make_unique<MortalSolver>("onednn.gemm", std::move(first)));
  if (!second.empty()) solvers.push_back(std::make_unique<MortalSolver>("openblas.gemm", std::move(second)));
  return solvers;
}

TEST(TunerOnALostDevice, ThrowsRatherThanCallAShapeUnsupported) {
  FakeDevice device;
  Registry solvers;
  for (auto& solver : mortal({"us=5;dies=0"}, {})) solvers.add(std::move(solver));
  LocalExecutor executor(device, solvers);
  const auto journal = open_memory_journal();
  TestClock clock;
  SilentObserver observer;
  const std::atomic<bool> interrupted = false;
  for (const bool lost : {false, true}) {
    if (lost) device.break_down();
    const auto run = [&] {
      return Tuner(executor, *journal, {}, clock).run({{.problem = problem(16, 48)}}, observer, interrupted).front();
    };
    if (lost)
      EXPECT_THROW(run(), Error);
    else
      EXPECT_EQ(run().ending, Ending::unsupported);
  }
}

TEST(TunerWithLittleTime, ACandidateThatWasNotTriedIsNotBlamed) {
  FakeDevice device;
  TestClock clock;
  Registry solvers;
  solvers.add(std::make_unique<MortalSolver>("onednn.gemm", std::vector<std::string>{"load_s=8;us=5", "us=4"}, &clock));
  LocalExecutor executor(device, solvers);
  const auto journal = open_memory_journal();
  SilentObserver observer;
  const std::atomic<bool> interrupted = false;
  const WorkItem given{
      .problem = problem(16, 48), .candidates = {Candidate::parse("onednn.gemm@1:us=4")}, .defaults_may_win = false};
  // The baseline alone takes more than the share of one of two problems.
  const auto results = Tuner(executor, *journal, {.budget_s = 14}, clock)
                           .run({given, {.problem = problem(17, 48)}}, observer, interrupted);
  EXPECT_EQ(results.front().ending, Ending::cut);
  EXPECT_EQ(results.front().reason, "its time ran out before a candidate that may win was tried");
}

TEST(TunerWithoutACandidate, ADecisionThatTheMachineKeptOneFromIsMadeAgain) {
  for (const bool loads : {true, false}) {
    const auto journal = open_memory_journal();
    for (const Ending again : {Ending::decided, loads ? Ending::reused : Ending::decided}) {
      const auto result = tune_with(mortal({"us=9", loads ? "us=5" : "unloadable=1;us=5"}, {}), *journal);
      EXPECT_EQ(result.ending, again) << result.reason;
      ASSERT_TRUE(result.decision);
      EXPECT_EQ(result.decision->incomplete, !loads);
    }
  }
}

class TunerOnFake : public testing::Test {
 protected:
  TunerOnFake() : executor_(device_, registry()), journal_(open_memory_journal()) {
    options_.contest.confirm.delay_s = 5;
  }
  std::vector<TuneResult> run(std::vector<WorkItem> items) {
    return Tuner(executor_, *journal_, options_, clock_).run(items, observer_, interrupted_);
  }
  TuneResult run_one(const Problem& one) { return run({{.problem = one}}).front(); }
  std::map<std::pair<std::string, Stage>, int> count_records() {
    std::map<std::pair<std::string, Stage>, int> counts;
    journal_->scan({}, [&](const Entry& entry, const Stamp&) {
      if (const auto* record = std::get_if<Record>(&entry))
        ++counts[{record->problem.key() + record->candidate.name(), record->stage}];
    });
    return counts;
  }
  int64_t newest_entry() {
    int64_t newest = 0;
    journal_->scan({}, [&](const Entry&, const Stamp& stamp) { newest = stamp.id; });
    return newest;
  }
  FakeDevice device_;
  LocalExecutor executor_;
  std::unique_ptr<Journal> journal_;
  TunerOptions options_;
  TestClock clock_;
  SilentObserver observer_;
  std::atomic<bool> interrupted_ = false;
};

TEST_F(TunerOnFake, FindsThePlantedWinner) {
  // The fake's formula favours tiles of the problem's own extents: 16 × 16 here; the default config is 64 × 64.
  const auto result = run_one(problem(16));
  ASSERT_EQ(result.ending, Ending::decided) << result.reason;
  EXPECT_EQ(result.decision->winner.config.integer("tile_m"), 16);
  EXPECT_EQ(result.decision->winner.config.integer("tile_n"), 16);
  EXPECT_EQ(result.decision->verdict, Verdict::faster);
  EXPECT_GT(result.decision->comparison.ratio, 1.0);
  EXPECT_EQ(result.decision->baseline.config.integer("tile_m"), 64);
}

TEST_F(TunerOnFake, MeasuresNothingTwice) {
  run_one(problem(16));
  const auto before = count_records();
  const auto again = run_one(problem(16));
  EXPECT_EQ(again.ending, Ending::reused);
  EXPECT_EQ(count_records(), before);
  for (const auto& [key, count] : before) EXPECT_EQ(count, 1) << key.first;
}

TEST_F(TunerOnFake, WaitsBeforeItMeasuresAndNotWhenAllIsDecided) {
  int num_waits = 0;
  options_.before_measuring = [&](const Tick& tick) {
    ++num_waits;
    EXPECT_FALSE(tick());
    interrupted_ = true;
    EXPECT_TRUE(tick()) << "an interrupt ends the wait";
    interrupted_ = false;
    EXPECT_TRUE(count_records().empty());
  };
  run_one(problem(16));
  EXPECT_EQ(num_waits, 1);
  EXPECT_EQ(run_one(problem(16)).ending, Ending::reused);
  EXPECT_EQ(num_waits, 1);
}

TEST_F(TunerOnFake, WhatItWaitsIsNotTakenFromTheBudget) {
  options_.budget_s = 1000;
  options_.before_measuring = [&](const Tick&) { clock_.sleep_s(1500); };
  EXPECT_EQ(run_one(problem(16)).ending, Ending::decided);
}

TEST_F(TunerOnFake, ResumesFromRecordsWithoutADecision) {
  const auto first = run_one(problem(16));
  // A journal as left by a kill during the finals: everything but the final records and the Decision.
  auto torn = open_memory_journal();
  journal_->scan({}, [&](const Entry& entry, const Stamp&) {
    const auto* record = std::get_if<Record>(&entry);
    if (std::holds_alternative<Decision>(entry) || (record && record->stage == Stage::final)) return;
    torn->append({&entry, 1});
  });
  journal_ = std::move(torn);
  const auto resumed = run_one(problem(16));
  ASSERT_EQ(resumed.ending, Ending::decided) << resumed.reason;
  EXPECT_EQ(resumed.decision->winner, first.decision->winner);
  for (const auto& [key, count] : count_records()) EXPECT_EQ(count, 1) << key.first;
  EXPECT_LT(resumed.decision->launches, first.decision->launches);
}

TEST_F(TunerOnFake, AnnouncesEveryCandidateBeforeItIsTouched) {
  run_one(problem(16));
  std::set<std::string> announced;
  journal_->scan({}, [&](const Entry& entry, const Stamp&) {
    if (const auto* started = std::get_if<Started>(&entry)) announced.insert(started->candidate.name());
    if (const auto* record = std::get_if<Record>(&entry)) {
      EXPECT_TRUE(announced.contains(record->candidate.name()));
    }
  });
  EXPECT_FALSE(announced.empty());
}

TEST_F(TunerOnFake, KeepsAnIncumbentThatIsTied) {
  const auto best = run_one(problem(16)).decision->winner;
  journal_ = open_memory_journal();
  const auto result = run({{.problem = problem(16), .incumbent = Incumbent{best}}}).front();
  EXPECT_EQ(result.decision->winner, best);
  options_.retune = true;
  EXPECT_EQ(run_one(problem(16)).ending, Ending::decided) << "--all measures again";
}

TEST_F(TunerOnFake, KeepsRowsUnlessToldToRetune) {
  EXPECT_EQ(run({{.problem = problem(16), .has_row = true}}).front().ending, Ending::kept);
  options_.retune = true;
  EXPECT_EQ(run({{.problem = problem(16), .has_row = true}}).front().ending, Ending::decided);
}

TEST_F(TunerOnFake, ARunOverAllThatGoesOnKeepsWhatIsItsOwn) {
  run_one(problem(16));  // Made by an earlier run and measured again.
  options_.retune = true;
  options_.own_after = newest_entry();
  EXPECT_EQ(run({{.problem = problem(16), .has_row = true}}).front().ending, Ending::decided);
  const int64_t before = newest_entry();
  const auto again = run({{.problem = problem(16), .has_row = true}}).front();
  EXPECT_EQ(again.ending, Ending::reused);
  EXPECT_TRUE(again.decision.has_value());
  EXPECT_EQ(newest_entry(), before) << "nothing is measured twice";
  options_.own_after = before;
  EXPECT_EQ(run({{.problem = problem(16), .has_row = true}}).front().ending, Ending::decided);
}

TEST_F(TunerOnFake, ReportsWhatItCannotRunAndGoesOn) {
  const auto results = run({{.problem = problem(2000000000, 2000000000, 2000000000)}, {.problem = problem(16)}});
  EXPECT_EQ(results[0].ending, Ending::refused);
  EXPECT_FALSE(results[0].reason.empty());
  EXPECT_EQ(results[1].ending, Ending::decided);
}

TEST_F(TunerOnFake, SaysWhenNoSolverTakesTheProblem) {
  options_.libraries = {"portable"};
  const auto result = run_one(problem(16));
  EXPECT_EQ(result.ending, Ending::unsupported);
  EXPECT_NE(result.reason.find("runs on a host only"), std::string::npos) << result.reason;
}

TEST_F(TunerOnFake, LeavesOutSplitKWhenAsked) {
  options_.split_k = false;
  run_one(problem(16));
  journal_->scan({}, [&](const Entry& entry, const Stamp&) {
    if (const auto* record = std::get_if<Record>(&entry)) {
      EXPECT_EQ(record->candidate.config.integer("split_k"), 1);
    }
  });
}

TEST_F(TunerOnFake, WorksOnTheNextProblemWhileOneWaitsForItsConfirm) {
  const double began = clock_.now_s();
  run({{.problem = problem(16)}});
  const double alone = clock_.now_s() - began;
  EXPECT_GE(alone, 5.0) << "a lone problem waits its confirm delay out";
  journal_ = open_memory_journal();
  const double together_began = clock_.now_s();
  const auto results =
      run({{.problem = problem(16)}, {.problem = problem(32)}, {.problem = problem(48)}, {.problem = problem(64)}});
  EXPECT_LT(clock_.now_s() - together_began, 4 * alone);
  for (const auto& result : results) EXPECT_EQ(result.ending, Ending::decided);
}

TEST_F(TunerOnFake, StopsAtItsBudgetAndSaysSo) {
  options_.budget_s = 0.05;
  const auto results = run({{.problem = problem(16)}, {.problem = problem(32)}, {.problem = problem(48)}});
  EXPECT_EQ(results.back().ending, Ending::cut);
  EXPECT_NE(results.back().reason.find("budget"), std::string::npos);
  EXPECT_EQ(observer_.order.size(), 3u) << "every problem is reported";
}

TEST_F(TunerOnFake, WhatWasDecidedBeforeIsNotCutWhenTheBudgetEndsBeforeItsTurn) {
  const auto winner = run_one(problem(16)).decision->winner;
  options_.budget_s = 1e-6;  // over at once
  const auto results =
      run({{.problem = problem(64)}, {.problem = problem(16)}, {.problem = problem(32), .has_row = true}});
  EXPECT_EQ(results[0].ending, Ending::cut);
  EXPECT_EQ(results[0].reason, "the budget ran out before a decision");
  ASSERT_EQ(results[1].ending, Ending::reused);
  EXPECT_EQ(results[1].decision->winner, winner);
  EXPECT_EQ(results[2].ending, Ending::kept);
  EXPECT_THAT(observer_.order, testing::SizeIs(4)) << "each is reported once, and the first run's";
  options_.retune = true;
  for (const auto& result : run({{.problem = problem(16)}, {.problem = problem(32), .has_row = true}}))
    EXPECT_EQ(result.ending, Ending::cut) << "--all decides it again";
}

TEST_F(TunerOnFake, ADecisionThatDoesNotStandIsCutWhenTheBudgetEndsBeforeItsTurn) {
  Decision incomplete = *run_one(problem(16)).decision;
  incomplete.incomplete = true;
  journal_ = open_memory_journal();
  const Entry entry = incomplete;
  journal_->append({&entry, 1});
  options_.budget_s = 1e-6;
  EXPECT_EQ(run_one(problem(16)).ending, Ending::cut);
}

TEST_F(TunerOnFake, StopsWhenInterrupted) {
  interrupted_ = true;
  const auto results = run({{.problem = problem(16)}});
  EXPECT_EQ(results.front().ending, Ending::cut);
}

TEST_F(TunerOnFake, ExhaustiveSearchMeasuresEveryCandidate) {
  options_.exhaustive = true;
  options_.warmup = 1;
  options_.iters = 5;
  options_.strategy.name = "exhaustive";
  const auto result = run_one(problem(16));
  ASSERT_EQ(result.ending, Ending::decided) << result.reason;
  EXPECT_EQ(result.decision->finalists.size(), result.num_candidates);
  EXPECT_EQ(result.decision->winner.config.integer("tile_m"), 16);
}

/// A death in every phase: run 3 is in the admission, later ones in the race, the finals and the confirmation.
TEST(TunerWithMortalCandidates, LosesOnlyTheCandidateThatDies) {
  for (const char* dies : {"3", "12", "25", "60", "90", "130"}) {
    const auto journal = open_memory_journal();
    const auto result = tune_with(mortal({"us=100", "us=70", std::string("us=69;dies=") + dies}, {}), *journal);
    ASSERT_EQ(result.ending, Ending::decided) << dies << ": " << result.reason;
    const auto winner_us = result.decision->winner.config.integer("us");
    EXPECT_EQ(winner_us, result.failures.empty() ? 69 : 70) << dies;
  }
}

TEST(TunerWithMortalCandidates, PutsTheNextDefaultInThePlaceOfABaselineThatDies) {
  for (const char* dies : {"3", "12", "25", "60", "90"}) {
    const auto journal = open_memory_journal();
    const auto result = tune_with(mortal({std::string("us=10;dies=") + dies}, {"us=30", "us=9"}), *journal);
    ASSERT_EQ(result.ending, Ending::decided) << dies << ": " << result.reason;
    EXPECT_EQ(result.decision->baseline.solver, result.failures.empty() ? "onednn.gemm" : "openblas.gemm") << dies;
    EXPECT_EQ(result.decision->winner.config.integer("us"), 9) << dies;
  }
}

TEST(TunerWithMortalCandidates, TakesWhatALibraryRecommendsNextWhereItsDefaultConfigFails) {
  for (const char* default_config : {"us=10;unloadable=1", "us=10;dies=25"}) {
    const auto journal = open_memory_journal();
    const auto result = tune_with(mortal({default_config, "us=40", "us=30;recommended=1", "us=9"}, {}), *journal);
    ASSERT_EQ(result.ending, Ending::decided) << default_config << ": " << result.reason;
    EXPECT_EQ(result.decision->baseline.config.key(), "recommended=1;us=30") << default_config;
    EXPECT_EQ(result.decision->winner.config.integer("us"), 9) << default_config;
    EXPECT_EQ(result.decision->best_default->candidate, result.decision->baseline) << default_config;
  }
  const auto journal = open_memory_journal();
  EXPECT_EQ(tune_with(mortal({"us=10", "us=30;recommended=1"}, {}), *journal).decision->baseline.config.key(), "us=10");
}

TEST(TunerWithMortalCandidates, SaysSoWhenNobodyIsLeft) {
  const auto journal = open_memory_journal();
  const auto result = tune_with(mortal({"us=10;dies=20"}, {}), *journal);
  EXPECT_EQ(result.ending, Ending::unsupported);
  EXPECT_NE(result.reason.find("planted death"), std::string::npos) << result.reason;
}

TEST(TunerWithMortalCandidates, DoesNotHoldAPassingFailureAgainstACandidate) {
  const auto journal = open_memory_journal();
  tune_with(mortal({"us=10", "us=6;dies=3"}, {}), *journal);
  // A launch that failed once may have met a busy device, so it is tried again when the decision is gone.
  auto torn = open_memory_journal();
  journal->scan({.decisions = false}, [&](const Entry& entry, const Stamp&) { torn->append({&entry, 1}); });
  const auto again = tune_with(mortal({"us=10", "us=6;dies=3"}, {}), *torn);
  EXPECT_EQ(again.failures.size(), 1u);
}

TEST_F(TunerOnFake, ADecisionCutShortIsNotReused) {
  options_.budget_s = 0.3;  // enough for some: the test clock advances a millisecond at every call
  const auto results = run({{.problem = problem(16)}, {.problem = problem(32)}});
  options_.budget_s = 0;
  for (const auto& result : run({{.problem = problem(16)}, {.problem = problem(32)}})) {
    const auto before = result.problem == results[0].problem ? results[0] : results[1];
    const bool complete = before.decision && !before.decision->incomplete;
    EXPECT_EQ(result.ending, complete ? Ending::reused : Ending::decided) << result.problem.key();
    EXPECT_FALSE(result.decision->incomplete);
  }
}

TEST_F(TunerOnFake, AnInterruptInConfirmLeavesNoDecision) {
  class Interrupts final : public TuneObserver {
   public:
    explicit Interrupts(std::atomic<bool>& flag) : flag_(flag) {}
    void progress(const Problem&, Phase phase, size_t) override { flag_ = flag_ || phase == Phase::confirm; }
    void finished(const TuneResult&) override {}

   private:
    std::atomic<bool>& flag_;
  } interrupts(interrupted_);
  const std::vector<WorkItem> items = {{.problem = problem(16)}};
  const auto results = Tuner(executor_, *journal_, options_, clock_).run(items, interrupts, interrupted_);
  EXPECT_EQ(results.front().ending, Ending::cut);
  interrupted_ = false;
  EXPECT_EQ(run_one(problem(16)).ending, Ending::decided) << "the final starts again";
}

TEST_F(TunerOnFake, BeginsWithTheWinnersOfItsNeighbours) {
  const auto winner = run_one(problem(16)).decision->winner;
  NeighbourIndex here(executor_.device().fingerprint()), elsewhere("another device");
  here.refresh(*journal_);
  elsewhere.refresh(*journal_);
  EXPECT_THAT(here.nearest(problem(24), 3), testing::ElementsAre(winner));
  EXPECT_TRUE(elsewhere.nearest(problem(24), 3).empty());
}

TEST(TunerBudget, AShapeWhoseLaunchesAreTooLongIsCutBeforeItsRounds) {
  const auto journal = open_memory_journal();
  TunerOptions options;
  options.budget_s = 20;
  const auto result = tune_with(mortal({"us=1000000"}, {}), *journal, options);
  EXPECT_EQ(result.ending, Ending::cut);
  EXPECT_THAT(result.reason,
              testing::HasSubstr("--budget leaves too little time for a decision, which needs at least 42.0 s"));
  options.budget_s = 2000;
  EXPECT_EQ(tune_with(mortal({"us=1000000"}, {}), *journal, options).ending, Ending::decided);
}

}  // namespace
}  // namespace attune
