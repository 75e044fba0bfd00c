// SPDX-License-Identifier: MIT
// Work items may ask for more than a Decision over all solvers.
#include "tuner/problem/work_item.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "device/fake/fake_device.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "solver/registry.h"
#include "testing/tuner_doubles.h"
#include "tuner/tuner.h"

namespace attune {
namespace {

using testing::Each;
using testing::Field;
using testing::IsEmpty;
using testing::SizeIs;

class WorkItemTest : public testing::Test {
 protected:
  WorkItemTest() {
    options_.strategy.max_trials = 12;
    const auto problem = Problem::parse("gemm_a16w16 m=16 n=32 k=16 dtype=fp32");
    item_.problem = op_of(problem).normalise(problem, {});
  }
  TuneResult run() {
    LocalExecutor executor(device_, registry());
    TestClock clock;
    SilentObserver observer;
    return Tuner(executor, *journal_, options_, clock).run({item_}, observer, false).front();
  }
  /// Names of all candidates in the journal.
  std::set<std::string> tried() {
    std::set<std::string> names;
    journal_->scan({}, [&](const Entry& entry, const Stamp&) {
      if (const auto* record = std::get_if<Record>(&entry)) names.insert(record->candidate.name());
    });
    return names;
  }

  FakeDevice device_;
  std::unique_ptr<Journal> journal_ = open_memory_journal();
  TunerOptions options_;
  WorkItem item_;
};

TEST_F(WorkItemTest, AShortListIsWhatTheRaceLeaves) {
  item_.goal = Goal::short_list;
  const TuneResult listed = run();
  EXPECT_EQ(listed.ending, Ending::shortlisted);
  EXPECT_FALSE(listed.decision);
  ASSERT_FALSE(listed.short_list.empty());
  EXPECT_THAT(listed.short_list, Each(Field(&ShortListEntry::us, testing::Gt(0))));
  const TuneResult again = run();
  EXPECT_EQ(again.short_list.size(), listed.short_list.size()) << "a resumed run has raced them";
  EXPECT_THAT(again.short_list, Each(Field(&ShortListEntry::us, testing::Gt(0))));
  item_.goal = Goal::decision;
  const TuneResult decided = run();
  ASSERT_EQ(decided.ending, Ending::decided);
  EXPECT_TRUE(std::any_of(listed.short_list.begin(), listed.short_list.end(),
                          [&](const ShortListEntry& one) { return one.candidate == decided.decision->winner; }));
}

TEST_F(WorkItemTest, GivenCandidatesAreTriedBesideTheDefaultConfigsAlone) {
  const Decision whole = *run().decision;
  const auto given = std::find_if(whole.finalists.begin(), whole.finalists.end(),
                                  [&](const Finalist& one) { return one.candidate != whole.winner; });
  ASSERT_NE(given, whole.finalists.end());
  journal_ = open_memory_journal();
  item_.candidates = {given->candidate};
  item_.defaults_may_win = false;
  const TuneResult result = run();
  ASSERT_TRUE(result.decision) << result.reason;
  EXPECT_EQ(result.decision->winner, given->candidate);
  EXPECT_TRUE(tried().contains(given->candidate.name()));
  EXPECT_LE(tried().size(), 1 + whole.finalists.size());
  item_.candidates.clear();
  item_.defaults_may_win = true;
  EXPECT_EQ(run().ending, Ending::decided) << "the Decision of a restricted search is another one's";
}

TEST_F(WorkItemTest, DefaultConfigsAreComparedWithoutASearch) {
  item_.defaults_only = true;
  const TuneResult result = run();
  ASSERT_TRUE(result.decision) << result.reason;
  EXPECT_FALSE(result.decision->incomplete);
  EXPECT_THAT(tried(), SizeIs(1)) << "the fake device has one solver";
  item_.defaults_only = false;
  EXPECT_EQ(run().ending, Ending::decided) << "the Decision of a search is another one's";
  EXPECT_GT(tried().size(), 1u);
}

TEST_F(WorkItemTest, AContestRacesItsCandidatesAgain) {
  item_.goal = Goal::short_list;
  const TuneResult listed = run();
  item_.goal = Goal::decision;
  for (const ShortListEntry& one : listed.short_list) item_.candidates.push_back(one.candidate);
  const auto count = [&](Stage stage) {
    size_t num = 0;
    journal_->scan({}, [&](const Entry& entry, const Stamp&) {
      const auto* record = std::get_if<Record>(&entry);
      num += record != nullptr && record->stage == stage;
    });
    return num;
  };
  const size_t verified = count(Stage::verify), screened = count(Stage::screen);
  item_.is_contest = true;
  EXPECT_TRUE(run().decision);
  EXPECT_EQ(count(Stage::verify), verified) << "what was verified is not verified again";
  EXPECT_GT(count(Stage::screen), screened);
}

TEST_F(WorkItemTest, OnlyNamedSolversTakePart) {
  item_.solvers = {"no.gemm"};
  const TuneResult none = run();
  EXPECT_EQ(none.ending, Ending::unsupported);
  item_.solvers = {"fake.gemm"};
  const TuneResult result = run();
  ASSERT_TRUE(result.decision) << result.reason;
  for (const std::string& name : tried()) EXPECT_THAT(name, testing::StartsWith("fake.gemm@")) << name;
}

}  // namespace
}  // namespace attune
