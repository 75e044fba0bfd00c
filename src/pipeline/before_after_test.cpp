// SPDX-License-Identifier: MIT
#include "pipeline/before_after.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

namespace attune {
namespace {

ShapeChange shape(std::string_view before, std::string_view after) {
  ShapeChange change{.problem = Problem::parse("gemm_a16w16 m=1 n=64 k=64")};
  change.before.served = Candidate::parse(before);
  change.after.served = Candidate::parse(after);
  change.before.baseline = change.after.baseline = Candidate::parse("fake.gemm@1:a=0");
  return change;
}

ShapeChange measured(double log_ratio) {
  ShapeChange change = shape("fake.gemm@1:a=1", "fake.gemm@1:a=2");
  const std::vector<ChangePairs> openings(ChangeOptions().max_openings[1],
                                          ChangePairs{log_ratio - 0.001, log_ratio, log_ratio + 0.001});
  change.samples.attempts = {openings, openings};
  return change;
}

TEST(BeforeAfter, AShapeThatKeepsItsKernelIsTheSameAndNoTest) {
  const std::vector<ShapeChange> shapes = {shape("fake.gemm@1:a=1", "fake.gemm@1:a=1"), measured(-0.1), measured(0.1)};
  const auto results = judge(shapes, {});
  EXPECT_EQ(results[0].verdict, Change::same);
  EXPECT_EQ(results[0].num_pairs, 0u);
  EXPECT_EQ(results[1].verdict, Change::slower);
  EXPECT_EQ(results[2].verdict, Change::faster);
}

TEST(BeforeAfter, AShapeThatWasNotMeasuredFailed) {
  ShapeChange refused = shape("fake.gemm@1:a=1", "fake.gemm@1:a=2");
  refused.samples.why_failed = refused.reason = "crashed";
  ShapeChange unknown = refused;
  unknown.before.served = unknown.after.served = {};
  const auto results = judge({refused, unknown, shape("fake.gemm@1:a=1", "fake.gemm@1:a=2")}, {});
  for (const ChangeResult& result : results) EXPECT_EQ(result.verdict, Change::failed);
}

TEST(BeforeAfter, WhatNeitherARowNorALibraryServedBeforeHasNoDefault) {
  ShapeChange fresh = shape("portable.gemm@1:block=4x4", "fake.gemm@1:a=2");
  fresh.before.baseline = fresh.after.baseline = {};
  EXPECT_EQ(judge({fresh}, {})[0].verdict, Change::no_default);
  fresh.before.row = "t.csv:2";
  EXPECT_EQ(judge({fresh}, {})[0].verdict, Change::failed) << "a row's kernel is compared, and was not measured";
  fresh.samples.why_failed = "crashed";
  EXPECT_EQ(judge({fresh}, {})[0].verdict, Change::failed);
}

TEST(BeforeAfter, WhatAnEarlierCallMeasuredIsNotMeasuredAgain) {
  ShapeChange change = measured(-0.1);
  EXPECT_FALSE(is_to_be_measured(change, {}));
  change.samples.attempts.resize(1);
  EXPECT_TRUE(is_to_be_measured(change, {})) << "the second attempt";
  change.samples.attempts.clear();
  EXPECT_TRUE(is_to_be_measured(change, {}));
  change.reason = "the kernel is the same";
  EXPECT_FALSE(is_to_be_measured(change, {}));
}

/// An executor that finds every kernel right until it was timed, and then one of them wrong.
class WrongAfterwards final : public Executor {
 public:
  explicit WrongAfterwards(Slot wrong) : wrong_(wrong) {}
  const DeviceInfo& device() const override { return device_; }
  void begin(Request request) override {
    answer_ = std::visit([this](const auto& one) { return done(one); }, request);
  }
  int descriptor() const override { return -1; }
  std::optional<Answer> take() override { return std::exchange(answer_, std::nullopt); }
  void close(ProblemId) override {}
  void drop(Slot) override {}
  void abort() override {}

  int num_rechecks = 0;
  uint32_t epoch_of_first_recheck = 0;

 private:
  static Answer done(const request::Open& open) { return OpenAnswer{.problem = open.id}; }
  static Answer done(const request::Admit& admit) { return AdmitAnswer{.slot = admit.slot, .verified = {}}; }
  static Answer done(const request::Recycle&) { return RecycleAnswer{1}; }
  Answer done(const request::Sample& sample) {
    SampleAnswer answer;
    for (const Turn& turn : sample.schedule) {
      if (sample.recheck && turn.slot == wrong_)
        answer.failed.emplace_back(turn.slot, Outcome{.status = Status::wrong_result, .detail = "wrong afterwards"});
      if (sample.recheck) continue;
      answer.turns.push_back(turn);
      answer.samples.push_back({.us = turn.slot == 1 ? 5.0F : 4.0F});
    }
    if (sample.recheck && num_rechecks++ == 0) answer.epoch = epoch_of_first_recheck;
    return answer;
  }

  DeviceInfo device_{.kind = "fake"};
  std::optional<Answer> answer_;
  Slot wrong_;
};

ShapeChange measured_by(WrongAfterwards& executor) {
  std::vector<ShapeChange> shapes = {shape("fake.gemm@1:a=1", "fake.gemm@1:a=2")};
  shapes.front().after.baseline = shapes.front().before.baseline = Candidate::parse("fake.gemm@1:a=3");
  measure_changes(shapes, executor, {});
  return shapes.front();
}

/// Of all attempts.
size_t num_openings(const ShapeChange& change) {
  size_t num = 0;
  for (const auto& attempt : change.samples.attempts) num += attempt.size();
  return num;
}

TEST(BeforeAfter, AKernelThatIsWrongAfterItWasTimedFails) {
  for (const Slot wrong : {1U, 2U}) {
    WrongAfterwards executor(wrong);
    const ShapeChange change = measured_by(executor);
    EXPECT_EQ(change.samples.why_failed, "wrong_result: wrong afterwards") << wrong;
    EXPECT_EQ(judge({change}, {}).front().verdict, Change::failed);
  }
  WrongAfterwards none(0);
  const ShapeChange change = measured_by(none);
  EXPECT_EQ(change.samples.why_failed, "");
  EXPECT_EQ(judge({change}, {}).front().verdict, Change::faster);
  EXPECT_EQ(static_cast<size_t>(none.num_rechecks), num_openings(change)) << "once an opening";
}

TEST(BeforeAfter, ADefaultConfigThatIsWrongAfterItWasTimedIsLeftOutAndTheOpeningRepeated) {
  WrongAfterwards executor(3);
  const ShapeChange change = measured_by(executor);
  EXPECT_EQ(change.samples.why_failed, "");
  EXPECT_TRUE(change.default_us.empty());
  EXPECT_EQ(static_cast<size_t>(executor.num_rechecks), num_openings(change) + change.samples.attempts.size());
}

TEST(BeforeAfter, AnOpeningWhoseWorkerEndedBeforeItsKernelsWereVerifiedAgainIsRepeated) {
  WrongAfterwards executor(0);
  executor.epoch_of_first_recheck = 7;
  const ShapeChange change = measured_by(executor);
  EXPECT_EQ(change.samples.why_failed, "");
  EXPECT_EQ(static_cast<size_t>(executor.num_rechecks), num_openings(change) + 1);
}

}  // namespace
}  // namespace attune
