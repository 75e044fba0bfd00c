// SPDX-License-Identifier: MIT
#include "report/document/journal_model.h"

#include <gmock/gmock.h>

#include "report/document/noise_buckets.h"
#include "report/journal_listing.h"
#include "testing/journal_values.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

class JournalModel : public JournalValues, public testing::Test {
 protected:
  std::unique_ptr<Journal> journal_ = open_memory_journal();

  void append(const Entry& entry) { journal_->append({&entry, 1}); }
  void trial(const std::string& config, double us, Status status = Status::ok) {
    Record one = record(config, us);
    one.outcome.status = status;
    one.stage = status == Status::ok ? Stage::screen : Stage::verify;
    if (status != Status::ok) one.outcome.measurement.reset();
    append(one);
  }
  ReportModel model(const JournalModelOptions& options = {}) { return model_of(*journal_, options); }
};

TEST_F(JournalModel, TheNewestDecisionOfAProblemCounts) {
  append(decision("a=1"));
  append(decision("a=2"));
  Decision other = decision("a=3");
  other.problem = kOther;
  append(other);
  const ReportModel got = model();
  ASSERT_THAT(got.decisions, SizeIs(2));
  EXPECT_EQ(got.decisions[0].winner, candidate("a=2").name());
  EXPECT_EQ(got.decisions[0].shape, "1×2×3 bf16");
  EXPECT_EQ(got.decisions[0].m, 1);
  EXPECT_EQ(got.decisions[0].baseline, candidate("").name());
  EXPECT_GT(got.decisions[0].flops, 0);
}

TEST_F(JournalModel, FailuresAreCountedByStatusAndSolverWithTheNewestExample) {
  trial("a=1", 0, Status::crashed);
  trial("a=2", 0, Status::crashed);
  trial("a=3", 0, Status::wrong_result);
  trial("a=4", 2);
  const ReportModel got = model();
  ASSERT_THAT(got.failures, SizeIs(2));
  EXPECT_EQ(got.failures[0].status, Status::crashed);
  EXPECT_EQ(got.failures[0].count, 2u);
  EXPECT_EQ(got.failures[0].candidate, candidate("a=2").name());
  EXPECT_EQ(got.num_records, 4u);
}

TEST_F(JournalModel, TheBestTimeFallsWithTheEvaluations) {
  trial("a=1", 9);
  trial("a=2", 0, Status::crashed);
  trial("a=3", 12);
  trial("a=4", 5);
  trial("a=5", 6);
  const ReportModel got = model();
  ASSERT_THAT(got.progress, SizeIs(1));
  EXPECT_THAT(got.progress[0].best, ElementsAre(Pair(1, 9), Pair(4, 5), Pair(5, 5)));
  ASSERT_THAT(got.undecided, SizeIs(1));
  EXPECT_EQ(got.undecided[0].num_candidates, 5u);
  append(decision("a=4"));
  EXPECT_THAT(model().undecided, IsEmpty());
}

TEST_F(JournalModel, ARunAndAChoiceOfProblemsLeaveOutTheRest) {
  const int64_t first = journal_->begin_run(run_begin());
  trial("a=1", 9);
  append(RunEnd{"done", 0, kVersions});
  const int64_t second = journal_->begin_run(run_begin());
  Decision other = decision("a=3");
  other.problem = kOther;
  append(other);
  const ReportModel of_second = model({.run = second});
  EXPECT_THAT(of_second.decisions, SizeIs(1));
  EXPECT_THAT(of_second.progress, IsEmpty());
  ASSERT_THAT(of_second.runs, SizeIs(1));
  EXPECT_EQ(of_second.runs[0].ending, "");
  const ReportModel of_problem = model({.problems = {kProblem.key()}});
  EXPECT_THAT(of_problem.decisions, IsEmpty());
  ASSERT_THAT(of_problem.runs, SizeIs(1));
  EXPECT_EQ(of_problem.runs[0].number, first);
  EXPECT_EQ(of_problem.runs[0].ending, "done");
  EXPECT_THAT(model({.after = newest_entry_id(*journal_) - 1}).progress, IsEmpty());
}

TEST_F(JournalModel, EarlierDecisionsStandWhereARunMadeNone) {
  Decision other = decision("a=3"), elsewhere = decision("a=4");
  other.problem = kOther;
  elsewhere.device = "g/4";
  trial("a=9", 0, Status::crashed);
  append(decision("a=1"));
  append(decision("a=2"));
  append(other);
  append(elsewhere);
  const int64_t began = newest_entry_id(*journal_);
  other.winner = candidate("a=5");
  append(other);
  const ReportModel got = model({.problems = {kProblem.key(), kOther.key()}, .device = "g/2", .after = began});
  ASSERT_THAT(got.decisions, SizeIs(2));
  EXPECT_EQ(got.decisions[0].winner, candidate("a=2").name()) << "the newest one of this device";
  EXPECT_EQ(got.decisions[1].winner, candidate("a=5").name());
  EXPECT_THAT(got.failures, IsEmpty()) << "they are of an earlier run";
  EXPECT_THAT(model({.after = began}).decisions, SizeIs(1)) << "without problems, only what is behind the entry";
}

TEST_F(JournalModel, AMessageOfMegabytesIsCut) {
  Record one = record("a=1");
  one.outcome.status = Status::crashed;
  one.outcome.detail = std::string(10'000'000, 'x');
  append(one);
  EXPECT_EQ(model().failures.at(0).detail.size(), 2000u);
}

TEST_F(JournalModel, TheRooflineIsThatOfTheDeviceWithTheFingerprint) {
  DeviceInfo device{.id = "g:1", .kind = "g", .gfx = "g", .num_units = 2, .model = "G"};
  device.peak_gflops = {{"bf16", 1e-3}};
  Decision one = decision("a=1");
  one.fingerprint = device.fingerprint();
  one.comparison.us = 100;
  append(one);
  EXPECT_EQ(model().decisions.at(0).of_roofline, 0);
  EXPECT_EQ(model({.devices = std::span(&device, 1)}).decisions.at(0).of_roofline, 0) << "of unknown bandwidth";
  one.bandwidth_gbs = 1e5;
  append(one);
  EXPECT_NEAR(model({.devices = std::span(&device, 1)}).decisions.at(0).of_roofline, 0.12, 1e-9)
      << "the tuning measured it";
  one.bandwidth_gbs = 0;
  append(one);
  device.bandwidth_gbs = 1e6;
  const ReportModel got = model({.devices = std::span(&device, 1)});
  EXPECT_NEAR(got.decisions.at(0).of_roofline, 0.12, 1e-9);  // 12 operations in 100 µs, of 10⁶ a second.
  ASSERT_THAT(got.devices, SizeIs(1));
  EXPECT_EQ(got.devices[0].model, "G");
}

TEST(NoiseBuckets, TheirWidthDoublesUntilTheyCoverAll) {
  NoiseBuckets buckets;
  Measurement measured;
  measured.samples = {{1, 1, 1, true}, {1, 1, 2, false}};
  for (int64_t i = 0; i < 1000; ++i) buckets.add(5000 + 1000 * i, measured);
  buckets.add(0, measured);
  buckets.add(1, measured);  // The clock was set back.
  const auto pieces = buckets.pieces();
  ASSERT_LE(pieces.size(), NoiseBuckets::kMaxPieces);
  EXPECT_EQ(pieces.front().begin_ms, 5000);
  EXPECT_EQ(pieces.front().width_ms, 16000);
  uint64_t samples = 0, dirty = 0;
  for (const ReportNoise& one : pieces) {
    samples += one.num_samples;
    dirty += one.num_dirty;
  }
  EXPECT_EQ(samples, 2002u);
  EXPECT_EQ(dirty, 1001u);
}

}  // namespace
}  // namespace attune
