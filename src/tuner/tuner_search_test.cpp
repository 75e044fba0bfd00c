// SPDX-License-Identifier: MIT
// A run tells its strategies results, their spread and cost, and what earlier runs and problems found out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "device/fake/fake_device.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "solver/registry.h"
#include "testing/tuner_doubles.h"
#include "tuner/tuner.h"

namespace attune {
namespace {

/// The task and the trials of one search.
struct Heard {
  SearchTask task;
  std::map<uint64_t, Trial> last;  ///< By index.
};

/// Forwards everything to a strategy and remembers the trials.
class Listener final : public Strategy {
 public:
  Listener(std::unique_ptr<Strategy> inner, Heard& heard) : inner_(std::move(inner)), heard_(heard) {}
  std::vector<uint64_t> ask(size_t max_count) override { return inner_->ask(max_count); }
  void tell(const Trial& trial) override {
    heard_.last[trial.index] = trial;
    inner_->tell(trial);
  }
  bool exhausted() const override { return inner_->exhausted(); }
  std::string remark() const override { return heard_.last.empty() ? "" : "it listened"; }

 private:
  std::unique_ptr<Strategy> inner_;
  Heard& heard_;
};

class ToldByTheTuner : public testing::Test {
 protected:
  ToldByTheTuner() {
    options_.make_strategy = [this](SearchTask task, const StrategyOptions& options) {
      heard_.push_back(std::make_unique<Heard>(Heard{task, {}}));
      return std::make_unique<Listener>(make_strategy(std::move(task), options), *heard_.back());
    };
  }
  std::vector<TuneResult> run(const std::vector<std::string>& problems) {
    std::vector<WorkItem> items;
    for (const std::string& text : problems) {
      const Problem typed = Problem::parse(text);
      items.push_back({.problem = op_of(typed).normalise(typed, {})});
    }
    LocalExecutor executor(device_, registry());
    SilentObserver observer;
    const std::atomic<bool> interrupted = false;
    heard_.clear();
    return Tuner(executor, *journal_, options_, clock_).run(items, observer, interrupted);
  }
  /// A journal without the decisions, as a kill leaves it.
  void tear_journal() {
    auto left = open_memory_journal();
    journal_->scan({.decisions = false}, [&](const Entry& entry, const Stamp&) { left->append({&entry, 1}); });
    journal_ = std::move(left);
  }

  FakeDevice device_{FakeNoise{.white = 0.02}};
  TestClock clock_;
  TunerOptions options_;
  std::unique_ptr<Journal> journal_ = open_memory_journal();
  std::vector<std::unique_ptr<Heard>> heard_;
};

TEST_F(ToldByTheTuner, EveryRacedCandidateHasItsSpreadSamplesAndSeconds) {
  const auto results = run({"gemm_a16w16 m=16 n=16 k=32 dtype=fp32"});
  ASSERT_EQ(results[0].ending, Ending::decided);
  ASSERT_EQ(heard_.size(), 1u);
  const Heard& heard = *heard_[0];
  EXPECT_EQ(heard.task.solver, "fake.gemm");
  EXPECT_EQ(heard.task.problem, results[0].problem);
  EXPECT_EQ(heard.task.device, device_.info());
  EXPECT_TRUE(heard.task.prior.empty());
  size_t num_timed = 0;
  for (const auto& [index, trial] : heard.last) {
    EXPECT_EQ(trial.status, Status::ok);
    EXPECT_GT(trial.prepare_s, 0);
    if (trial.num_samples < 3) continue;
    ++num_timed;
    EXPECT_GT(trial.median_us, 0);
    EXPECT_GT(trial.spread, 0.0005) << "the device's noise is 0.02";
    EXPECT_LT(trial.spread, 0.2);
    // Each sample is of as many untimed launches, at least.
    EXPECT_GT(trial.timing_s, 1.5e-6 * trial.median_us * trial.num_samples);
    EXPECT_LT(trial.timing_s, 1);
  }
  EXPECT_GT(num_timed, 10u);
  EXPECT_THAT(results[0].remarks, testing::ElementsAre("fake.gemm: it listened"));
}

TEST_F(ToldByTheTuner, AResumedRunIsGivenWhatTheJournalHoldsAndAsksTheSame) {
  run({"gemm_a16w16 m=16 n=16 k=32 dtype=fp32"});
  const auto first = std::move(heard_[0]);
  tear_journal();
  run({"gemm_a16w16 m=16 n=16 k=32 dtype=fp32"});
  const Heard& resumed = *heard_.at(0);
  EXPECT_EQ(resumed.task.prior.size(), first->last.size());
  size_t num_timed = 0;
  for (const Trial& trial : resumed.task.prior) {
    ASSERT_TRUE(first->last.contains(trial.index));
    EXPECT_EQ(trial.status, Status::ok);
    num_timed += trial.median_us > 0 && trial.num_samples > 0 && trial.spread > 0;
  }
  EXPECT_GT(num_timed, 10u);
  ASSERT_EQ(resumed.last.size(), first->last.size());
  for (const auto& [index, trial] : resumed.last) EXPECT_TRUE(first->last.contains(index));
}

TEST_F(ToldByTheTuner, ASearchThatBeginsAnewIsGivenNothingOfTheJournal) {
  run({"gemm_a16w16 m=16 n=16 k=32 dtype=fp32"});
  options_.retune = true;
  run({"gemm_a16w16 m=16 n=16 k=32 dtype=fp32"});
  EXPECT_TRUE(heard_.at(0)->task.prior.empty());
}

TEST_F(ToldByTheTuner, ADecidedProblemNeedsNoStrategy) {
  run({"gemm_a16w16 m=16 n=16 k=32 dtype=fp32"});
  EXPECT_EQ(run({"gemm_a16w16 m=16 n=16 k=32 dtype=fp32"})[0].ending, Ending::reused);
  EXPECT_TRUE(heard_.empty());
}

TEST_F(ToldByTheTuner, ALaterProblemBeginsWithTheCostsOfAnEarlierOne) {
  // Two problems are open at a time, so the third begins when the first has ended.
  run({"gemm_a16w16 m=16 n=16 k=32 dtype=fp32", "gemm_a16w16 m=32 n=16 k=32 dtype=fp32",
       "gemm_a16w16 m=48 n=16 k=32 dtype=fp32"});
  ASSERT_EQ(heard_.size(), 3u);
  EXPECT_EQ(heard_[0]->task.costs.prepare_s, 0);
  EXPECT_GT(heard_[2]->task.costs.prepare_s, 0);
  EXPECT_GT(heard_[2]->task.costs.timing_s, 0);
}

/// Asks in the order of the space for as many configs as fit into a time of its own, by the costs that it knows.
class WithinSeconds final : public Strategy {
 public:
  WithinSeconds(const SearchTask& task, double limit_s)
      : domain_(task.domain), log_(task.costs), limit_s_(limit_s), order_(domain_, 1) {}
  std::vector<uint64_t> ask(size_t max_count) override {
    std::vector<uint64_t> asked;
    while (asked.size() < max_count && !exhausted()) {
      const auto index = order_.next();
      if (!index) break;
      asked.push_back(*index);
      ++num_asked_;
    }
    return asked;
  }
  void tell(const Trial& trial) override { log_.add(trial); }
  /// The first is asked for at any cost.
  bool exhausted() const override {
    const Costs each = log_.costs();
    if (order_.exhausted()) return true;
    return num_asked_ > 0 && static_cast<double>(num_asked_ + 1) * (each.prepare_s + each.timing_s) > limit_s_;
  }

 private:
  Domain domain_;
  TrialLog log_;
  double limit_s_;
  RandomOrder order_;
  uint64_t num_asked_ = 0;
};

TEST_F(ToldByTheTuner, AStrategyCanSpendByWhatCandidatesCost) {
  const auto num_told = [&](double share) {
    size_t num_tried = 0;
    Costs known;
    options_.make_strategy = [&](const SearchTask& task, const StrategyOptions&) -> std::unique_ptr<Strategy> {
      known = task.costs;
      const double all_s = (known.prepare_s + known.timing_s) * static_cast<double>(task.space().size());
      heard_.push_back(std::make_unique<Heard>(Heard{task, {}}));
      return std::make_unique<Listener>(std::make_unique<WithinSeconds>(task, share * all_s), *heard_.back());
    };
    journal_ = open_memory_journal();
    run({"gemm_a16w16 m=16 n=16 k=32 dtype=fp32", "gemm_a16w16 m=32 n=16 k=32 dtype=fp32",
         "gemm_a16w16 m=48 n=16 k=32 dtype=fp32"});
    EXPECT_GT(known.prepare_s, 0);
    for (const auto& [index, trial] : heard_.at(2)->last) num_tried += trial.prepare_s > 0;
    return num_tried;
  };
  const size_t few = num_told(0.2), many = num_told(5);
  EXPECT_GT(few, 0u);
  EXPECT_LT(2 * few, many) << "of a space that is cheap enough as a whole";
}

/// Lets the solver whose candidates cost least name the next one.
class CheapestFirst final : public SolverAllocator {
 public:
  explicit CheapestFirst(std::vector<std::string>& chosen) : chosen_(chosen) {}
  size_t next(std::span<const SolverState> solvers) override {
    size_t best = solvers.size();
    for (size_t i = 0; i < solvers.size(); ++i) {
      if (!solvers[i].idle && (best == solvers.size() || cost_of(solvers[i]) < cost_of(solvers[best]))) best = i;
    }
    chosen_.push_back(solvers[best].solver);
    return best;
  }

 private:
  static double cost_of(const SolverState& state) {
    const Costs costs = state.trials.costs();
    return costs.prepare_s + costs.timing_s;
  }
  std::vector<std::string>& chosen_;
};

TEST_F(ToldByTheTuner, AnAllocatorCanDivideByWhatSolversCost) {
  std::vector<std::string> chosen;
  options_.make_allocator = [&] { return std::make_unique<CheapestFirst>(chosen); };
  EXPECT_EQ(run({"gemm_a16w16 m=16 n=16 k=32 dtype=fp32"})[0].ending, Ending::decided);
  EXPECT_EQ(std::set<std::string>(chosen.begin(), chosen.end()), std::set<std::string>{"fake.gemm"});
  EXPECT_GT(chosen.size(), 10u) << "a question each";
}

}  // namespace
}  // namespace attune
