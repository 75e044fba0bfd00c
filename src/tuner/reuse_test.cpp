// SPDX-License-Identifier: MIT
// Results that a run reuses from an earlier one's records, and results that it measures again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "device/fake/fake_device.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "solver/registry.h"
#include "testing/tuner_doubles.h"
#include "tuner/tuner.h"

namespace attune {
namespace {

class Reuse : public testing::Test {
 protected:
  TuneResult run(Journal& journal, const std::vector<Ban>& bans = {}) {
    const auto problem = Problem::parse("gemm_a16w16 m=16 n=16 k=32 dtype=fp32");
    LocalExecutor executor(device_, registry());
    TestClock clock;
    SilentObserver observer;
    const std::atomic<bool> interrupted = false;
    TunerOptions options;
    options.bans = std::make_shared<const BanList>(bans);
    return Tuner(executor, journal, options, clock)
        .run({{.problem = op_of(problem).normalise(problem, {})}}, observer, interrupted)
        .front();
  }

  /// A journal as left by a kill during the finals, with each record changed.
  static std::unique_ptr<Journal> torn(const Journal& journal, const std::function<void(Record&)>& change) {
    auto left = open_memory_journal();
    journal.scan({.decisions = false}, [&](const Entry& entry, const Stamp&) {
      Entry copy = entry;
      if (auto* record = std::get_if<Record>(&copy)) {
        if (record->stage == Stage::final) return;
        change(*record);
      } else if (auto* started = std::get_if<Started>(&copy)) {
        Record announced;
        announced.candidate = started->candidate;
        announced.versions = started->versions;
        change(announced);
        started->versions = announced.versions;
      }
      left->append({&copy, 1});
    });
    return left;
  }

  /// Names of the candidates verified by the entries after the first `num_before`.
  static std::multiset<std::string> verified(const Journal& journal, size_t num_before = 0) {
    std::multiset<std::string> names;
    size_t index = 0;
    journal.scan({}, [&](const Entry& entry, const Stamp&) {
      const auto* record = std::get_if<Record>(&entry);
      if (index++ >= num_before && record && record->stage == Stage::verify) names.insert(record->candidate.name());
    });
    return names;
  }
  static size_t size(const Journal& journal) {
    size_t count = 0;
    journal.scan({}, [&](const Entry&, const Stamp&) { ++count; });
    return count;
  }

  FakeDevice device_;
};

TEST_F(Reuse, RecordsOfTheSameVersionsAreNotMadeAgain) {
  const auto journal = open_memory_journal();
  run(*journal);
  const auto left = torn(*journal, [](Record&) {});
  const size_t before = size(*left);
  ASSERT_EQ(run(*left).ending, Ending::decided);
  EXPECT_THAT(verified(*left, before), testing::IsEmpty());
}

TEST_F(Reuse, ADecisionThatABudgetCutShortIsMadeAgain) {
  for (const bool cut : {false, true}) {
    const auto journal = open_memory_journal();
    run(*journal);
    const auto left = open_memory_journal();
    journal->scan({}, [&](const Entry& entry, const Stamp&) {
      Entry copy = entry;
      if (auto* decision = std::get_if<Decision>(&copy)) decision->incomplete = cut;
      left->append({&copy, 1});
    });
    EXPECT_EQ(run(*left).ending, cut ? Ending::decided : Ending::reused);
  }
}

TEST_F(Reuse, ADecisionIsMadeAgainAfterAPardonOfACandidateThatFailed) {
  const auto journal = open_memory_journal();
  run(*journal);
  Candidate failed;
  auto left = open_memory_journal();
  journal->scan({}, [&](const Entry& entry, const Stamp&) {
    Entry copy = entry;
    if (auto* record = std::get_if<Record>(&copy);
        record != nullptr && record->stage == Stage::verify && failed.solver.empty()) {
      failed = record->candidate;
      record->outcome = {.status = Status::crashed, .detail = "signal 11"};
    }
    left->append({&copy, 1});
  });
  EXPECT_EQ(run(*left).ending, Ending::reused);
  const auto pardon = [&](const std::string& device, const Candidate& candidate) {
    const Entry entry = Pardon{device, candidate};
    left->append({&entry, 1});
    return run(*left).ending;
  };
  EXPECT_EQ(pardon("another/2", failed), Ending::reused);
  EXPECT_EQ(pardon(device_.info().key(), {"other.gemm", "1", {}}), Ending::reused);
  EXPECT_EQ(pardon(device_.info().key(), failed), Ending::decided);
  EXPECT_EQ(run(*left).ending, Ending::reused) << "the newer decision stands";
}

TEST_F(Reuse, ADecisionForWhatIsBannedSinceIsMadeAgainAndOnceMoreWithoutTheBan) {
  const auto journal = open_memory_journal();
  const Candidate winner = run(*journal).decision->winner;
  const Ban ban{winner.name(), "", "", "wrong"};
  const TuneResult banned = run(*journal, {ban});
  ASSERT_EQ(banned.ending, Ending::decided) << banned.reason;
  EXPECT_NE(banned.decision->winner, winner);
  for (const Finalist& finalist : banned.decision->finalists) EXPECT_NE(finalist.candidate, winner);
  EXPECT_EQ(run(*journal, {ban}).ending, Ending::reused);
  const auto append = [&](Ban changed, bool lifted) {
    const Entry entry = BanChange{std::move(changed), "me@here", lifted};
    journal->append({&entry, 1});
  };
  append(ban, false);
  append({winner.name(), "", "gemm_a16w16 m=1 n=1 k=1", "wrong"}, true);
  append({"other.gemm@1:x=1", "", "", "wrong"}, true);
  EXPECT_EQ(run(*journal, {ban}).ending, Ending::reused) << "no lifted ban kept a candidate from this problem";
  append(ban, true);
  const TuneResult again = run(*journal);
  ASSERT_EQ(again.ending, Ending::decided) << again.reason;
  EXPECT_EQ(again.decision->winner, winner);
  EXPECT_EQ(run(*journal).ending, Ending::reused);
}

TEST_F(Reuse, ADecisionIsMadeAgainUnderLongerDeadlinesThanACandidateHad) {
  const auto journal = open_memory_journal();
  run(*journal);
  struct Case {
    Deadlines deadlines;
    Ending ending;
  };
  for (const auto& [deadlines, ending] :
       {Case{{}, Ending::reused}, Case{{60'000, 2'000}, Ending::reused}, Case{{60'000, 1'000}, Ending::decided}}) {
    const auto left = open_memory_journal();
    journal->scan({}, [&](const Entry& entry, const Stamp&) {
      Entry copy = entry;
      if (auto* decision = std::get_if<Decision>(&copy)) decision->deadlines = deadlines;
      left->append({&copy, 1});
    });
    EXPECT_EQ(run(*left).ending, ending) << deadlines.run_ms;
  }
}

TEST_F(Reuse, RecordsOfAnotherLibraryVersionAreWorthNothing) {
  const auto journal = open_memory_journal();
  const TuneResult first = run(*journal);
  const auto all = verified(*journal);
  ASSERT_THAT(all, testing::SizeIs(testing::Gt(3u)));
  const auto left = torn(*journal, [](Record& record) { record.versions[record.candidate.solver] = "1+0.9"; });
  const size_t before = size(*left);
  const TuneResult again = run(*left);
  ASSERT_EQ(again.ending, Ending::decided) << again.reason;
  EXPECT_EQ(verified(*left, before), all);
  EXPECT_EQ(again.decision->winner, first.decision->winner);
}

TEST_F(Reuse, AnotherVersionsFailureIsNotHeldAgainstACandidate) {
  const auto journal = open_memory_journal();
  const Candidate best = run(*journal).decision->winner;
  const auto left = torn(*journal, [&](Record& record) {
    record.versions[record.candidate.solver] = "1+0.9";
    if (record.stage == Stage::verify) record.outcome = {Status::wrong_result, "as it was then", {}, {}};
  });
  const TuneResult again = run(*left);
  ASSERT_EQ(again.ending, Ending::decided) << again.reason;
  EXPECT_EQ(again.decision->winner, best);
  EXPECT_THAT(again.failures, testing::IsEmpty());
}

TEST_F(Reuse, ACandidateKnownToBeWrongTakesNoPart) {
  const auto journal = open_memory_journal();
  const Candidate best = run(*journal).decision->winner;
  const auto left = torn(*journal, [&](Record& record) {
    if (record.candidate == best && record.stage == Stage::verify)
      record.outcome = {Status::wrong_result, "planted", {}, {}};
  });
  const TuneResult again = run(*left);
  ASSERT_EQ(again.ending, Ending::decided) << again.reason;
  EXPECT_NE(again.decision->winner, best);
  for (const Finalist& finalist : again.decision->finalists) EXPECT_NE(finalist.candidate, best);
  ASSERT_THAT(again.failures, testing::SizeIs(1));
  EXPECT_EQ(again.failures.front().first, best);
  EXPECT_EQ(again.failures.front().second.status, Status::wrong_result);
}

}  // namespace
}  // namespace attune
