// SPDX-License-Identifier: MIT
// Time saved by a tuner together with a worker that stands by.
#include <gtest/gtest.h>

#include "store/journal.h"
#include "testing/slow_library.h"
#include "tuner/tuner.h"

namespace attune {
namespace {

/// This program is its own worker, with a library that takes long.
TEST(SlowWorker, DISABLED_IsThisProcess) { run_slow_worker(); }

class OverlapTest : public SlowWorkerFixture {};

class ResultObserver final : public TuneObserver {
 public:
  void progress(const Problem&, Phase, size_t) override {}
  void finished(const TuneResult& result) override { results.push_back(result); }
  std::vector<TuneResult> results;
};

TEST_F(OverlapTest, NothingButTheFirstProblemWaitsForItsList) {
  TunerOptions options;
  options.contest.race.min_rounds = options.contest.race.max_rounds = 2;
  std::vector<WorkItem> items;
  for (const int m : {8, 4, 2})
    items.push_back({.problem = problem_.with("m", std::to_string(m)), .goal = Goal::short_list});
  const auto journal = open_memory_journal();
  ResultObserver observer;
  Tuner(executor(), *journal, options).run(items, observer, false);
  TimeUse later;
  for (const TuneResult& result : observer.results) {
    EXPECT_EQ(result.ending, Ending::shortlisted) << result.reason;
    EXPECT_EQ(result.num_candidates, size_t{SlowLibrary::kNumConfigs});
    if (result.problem != items[0].problem) later += result.time;
  }
  EXPECT_LT(later[Activity::list].wall_s, std::chrono::duration<double>(SlowLibrary::kList).count());
  RecordProperty("busy", std::to_string(later.busy_s() / later.wall_s()));  // 0.96 where nothing else runs.
}

}  // namespace
}  // namespace attune
