// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "base/descriptor.h"
#include "base/error.h"
#include "device/device_kind.h"
#include "device/fake/fake_device.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "solver/registry.h"
#include "testing/tuner_doubles.h"
#include "tuner/tuner.h"

namespace attune {
namespace {

/// An executor on its own fake device that throws after it has opened some problems, that is slow to open them, or has
/// no memory for any.
class FailingExecutor final : public Executor {
 public:
  FailingExecutor(int max_opens, ErrorCode code, const std::string& id = "fake:0") : left_(max_opens), code_(code) {
    info_.id = id;
  }
  const DeviceInfo& device() const override { return info_; }
  void begin(Request request) override {
    if (const auto* open = std::get_if<request::Open>(&request)) {
      --left_;
      ++num_opens;
      measured.insert(open->problem);
      std::this_thread::sleep_for(opening_time);
    }
    if (hangs_in != nullptr && std::holds_alternative<request::Sample>(request))
      outstanding_ = std::move(request);
    else
      inner_.begin(std::move(request));
  }
  int descriptor() const override { return hangs_in == nullptr ? inner_.descriptor() : always_ready_.number(); }
  std::optional<Answer> take() override {
    if (left_ < 0) fail(code_, "planted loss");
    if (outstanding_) {
      hangs_in->sleep_s(1);
      return is_aborted_ ? std::optional(cancelled(*std::exchange(outstanding_, std::nullopt), 1)) : std::nullopt;
    }
    auto answer = inner_.take();
    if (auto* opened = answer ? std::get_if<OpenAnswer>(&*answer) : nullptr; opened != nullptr && is_busy)
      opened->busy = true;
    if (auto* admitted = answer ? std::get_if<AdmitAnswer>(&*answer) : nullptr; admitted != nullptr && loses_candidates)
      admitted->verified = {.status = Status::device_lost, .detail = "planted: the worker was killed"};
    return answer;
  }
  void close(ProblemId id) override { inner_.close(id); }
  void drop(Slot slot) override { inner_.drop(slot); }
  void prefetch(std::optional<request::Open> open) override {
    num_rests += !open;
    if (open) listed_ahead.insert(open->problem);
  }
  void abort() override { outstanding_ ? static_cast<void>(is_aborted_ = true) : inner_.abort(); }

  std::chrono::milliseconds opening_time{0};
  bool is_busy = false, loses_candidates = false;
  size_t num_opens = 0, num_rests = 0;
  std::set<Problem> measured, listed_ahead;
  Clock* hangs_in = nullptr;  ///< Samples are never answered, which takes a second at each look. Null: they are.

 private:
  FakeDevice device_;
  LocalExecutor inner_{device_, registry()};
  DeviceInfo info_ = inner_.device();
  int left_;
  ErrorCode code_;
  std::optional<Request> outstanding_;
  bool is_aborted_ = false;
  Descriptor always_ready_{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
};

class Counting final : public TuneObserver {
 public:
  void progress(const Problem&, Phase, size_t) override {}
  void finished(const TuneResult&) override { ++num_finished; }
  void device_lost(const DeviceInfo& device, const std::string& why) override {
    lost.push_back(fmt::format("{}: {}", device.id, why));
  }
  void worker_lost(const DeviceInfo& device, const std::string& why) override {
    lost_workers.push_back(fmt::format("{}: {}", device.id, why));
  }
  size_t num_finished = 0;
  std::vector<std::string> lost, lost_workers;
};

class TunerOnSeveralDevices : public testing::Test {
 protected:
  TunerOnSeveralDevices() {
    options_.contest.confirm.delay_s = 0;
    options_.strategy.max_trials = 4;
    for (int m = 1; m <= 10; ++m) {
      const auto problem = Problem::parse(fmt::format("gemm_a16w16 m={} n=16 k=16 dtype=fp32", m));
      items_.push_back({.problem = op_of(problem).normalise(problem, {})});
    }
  }
  std::vector<TuneResult> run(Executor& first, Executor& second) {
    return Tuner({{first, *journals_[0], nullptr, {}}, {second, *journals_[1], nullptr, {}}}, options_)
        .run(items_, observer_, interrupted_);
  }
  void expect_all_decided(const std::vector<TuneResult>& results) {
    ASSERT_EQ(results.size(), items_.size());
    for (size_t i = 0; i < results.size(); ++i) {
      EXPECT_EQ(results[i].problem, items_[i].problem);
      EXPECT_EQ(results[i].ending, Ending::decided) << results[i].reason;
    }
    EXPECT_EQ(observer_.num_finished, items_.size());
  }

  TunerOptions options_;
  std::vector<WorkItem> items_;
  std::unique_ptr<Journal> journals_[2] = {open_memory_journal(), open_memory_journal()};
  Counting observer_;
  std::atomic<bool> interrupted_ = false;
};

constexpr int kNever = 1'000'000;

/// A kind whose driver says that power limits the clock of its first device, and nothing of the second's.
const bool kIsHeldRegistered = [] {
  register_device_kind({.name = "held",
                        .list = [] { return std::vector<DeviceInfo>(); },
                        .open = [](std::string_view, int64_t) { return std::unique_ptr<Device>(); },
                        .clock_state =
                            [](std::string_view id) {
                              return id == "held:0" ? ClockState{.held_by = {"power limit"}}
                                                    : ClockState{.unknown = "no NVML"};
                            }});
  return true;
}();

TEST_F(TunerOnSeveralDevices, ResultsSayWhatHeldTheClockDownAndOnceThatNobodyKnows) {
  ASSERT_TRUE(kIsHeldRegistered);
  FailingExecutor first(kNever, ErrorCode::device, "held:0"), second(kNever, ErrorCode::device, "held:1");
  size_t num_held = 0, num_unknown = 0;
  for (const TuneResult& result : run(first, second)) {
    num_held += std::ranges::count(result.remarks, "the clock was held down by: power limit");
    num_unknown += std::ranges::count(result.remarks, "what holds the clock down is not known: no NVML");
  }
  EXPECT_GT(num_held, 0u);
  EXPECT_LE(num_unknown, 1u);
}

TEST_F(TunerOnSeveralDevices, EveryProblemIsDecidedOnceAndInTheOrderOfTheInput) {
  FailingExecutor first(kNever, ErrorCode::device), second(kNever, ErrorCode::device);
  expect_all_decided(run(first, second));
  EXPECT_EQ(first.num_rests, 1u) << "one whose work is done keeps nothing ready";
  EXPECT_EQ(second.num_rests, 1u);
  size_t num_decisions = 0;
  for (const auto& journal : journals_)
    journal->scan({.started = false, .records = false, .pardons = false},
                  [&](const Entry&, const Stamp&) { ++num_decisions; });
  EXPECT_EQ(num_decisions, items_.size());
}

TEST_F(TunerOnSeveralDevices, EachListsAheadWhatItMeasuresItself) {
  FailingExecutor first(kNever, ErrorCode::device), second(kNever, ErrorCode::device, "fake:1");
  first.opening_time = second.opening_time = std::chrono::milliseconds(2);
  run(first, second);
  for (const FailingExecutor* one : {&first, &second}) {
    EXPECT_GT(one->listed_ahead.size(), 1u);
    EXPECT_TRUE(std::ranges::includes(one->measured, one->listed_ahead));
  }
  EXPECT_LE(first.listed_ahead.size() + second.listed_ahead.size(), items_.size() - 2) << "the last are left to both";
}

TEST_F(TunerOnSeveralDevices, EntriesNameTheDeviceThatMeasured) {
  FailingExecutor first(kNever, ErrorCode::device), second(kNever, ErrorCode::device, "fake:1");
  run(first, second);
  for (size_t i = 0; i < 2; ++i) {
    size_t num_entries = 0;
    const std::string id = fmt::format("fake:{}", i);
    journals_[i]->scan({.started = false, .pardons = false}, [&](const Entry& entry, const Stamp&) {
      const auto* const record = std::get_if<Record>(&entry);
      EXPECT_EQ(record != nullptr ? record->device_id : std::get<Decision>(entry).device_id, id);
      ++num_entries;
    });
    EXPECT_GT(num_entries, 0u);
  }
}

TEST_F(TunerOnSeveralDevices, TheProblemsOfALostDeviceGoToTheOther) {
  FailingExecutor lost(2, ErrorCode::device, "fake:1"), healthy(kNever, ErrorCode::device);
  expect_all_decided(run(lost, healthy));
  EXPECT_THAT(observer_.lost, testing::ElementsAre("fake:1: planted loss"));
}

TEST_F(TunerOnSeveralDevices, ALostWorkerOfADeviceIsNoLostDevice) {
  FailingExecutor lost(2, ErrorCode::device), healthy(kNever, ErrorCode::device);
  expect_all_decided(run(lost, healthy));
  EXPECT_THAT(observer_.lost_workers, testing::ElementsAre("fake:0: planted loss"));
  EXPECT_THAT(observer_.lost, testing::IsEmpty());
}

TEST_F(TunerOnSeveralDevices, TheLossOfAllWorkersOfTheOnlyDeviceEndsTheRun) {
  FailingExecutor first(1, ErrorCode::device), second(2, ErrorCode::device);
  EXPECT_THROW(run(first, second), Error);
  EXPECT_EQ(observer_.lost_workers.size(), 1u);
  EXPECT_THAT(observer_.lost, testing::IsEmpty()) << "no other device takes its problems";
}

TEST_F(TunerOnSeveralDevices, ALossOfAllEndsTheRun) {
  FailingExecutor first(1, ErrorCode::device), second(2, ErrorCode::device, "fake:1");
  EXPECT_THROW(run(first, second), Error);
}

TEST_F(TunerOnSeveralDevices, WhatIsNoFaultOfADeviceEndsTheRunOfAll) {
  FailingExecutor first(0, ErrorCode::database), second(kNever, ErrorCode::device);
  EXPECT_THROW(run(first, second), Error);
}

TEST_F(TunerOnSeveralDevices, AfterTheBudgetADeviceThatWasNotLostLooksUpWhatWaits) {
  for (WorkItem& item : items_) item.has_row = true;
  FailingExecutor lost(0, ErrorCode::device), healthy(kNever, ErrorCode::device);
  healthy.opening_time = std::chrono::milliseconds(2);
  options_.budget_s = 0.008;
  for (const TuneResult& result : run(lost, healthy)) EXPECT_EQ(result.ending, Ending::kept) << result.reason;
}

TEST_F(TunerOnSeveralDevices, AfterTheBudgetWhatAnExecutorCannotOpenIsCut) {
  for (WorkItem& item : items_) item.has_row = true;
  FailingExecutor busy(kNever, ErrorCode::device);
  busy.is_busy = true;
  options_.budget_s = 1e-6;
  TestClock clock;  // The budget is over at once.
  Tuner tuner({TuningDevice{busy, *journals_[0], nullptr, {}}}, options_, clock);
  for (const TuneResult& result : tuner.run(items_, observer_, interrupted_)) {
    EXPECT_EQ(result.ending, Ending::cut);
    EXPECT_EQ(result.reason, "the budget ran out before a decision");
  }
  EXPECT_LE(busy.num_opens, items_.size()) << "a problem is asked for once";
}

TEST_F(TunerOnSeveralDevices, ABudgetDoesNotWaitForAWorkerThatHangs) {
  TestClock clock;
  FailingExecutor hanging(kNever, ErrorCode::device);
  hanging.hangs_in = &clock;
  options_.budget_s = 100;
  for (const TuneResult& result :
       Tuner({TuningDevice{hanging, *journals_[0], nullptr, {}}}, options_, clock).run(items_, observer_, interrupted_))
    EXPECT_EQ(result.ending, Ending::cut) << result.reason;
  EXPECT_GT(clock.now_s(), 100);
  EXPECT_LT(clock.now_s(), 115);
}

TEST_F(TunerOnSeveralDevices, AShapeWhoseCandidatesAreAllLostMayBeDecidedByAnotherRun) {
  items_.resize(1);
  FailingExecutor losing(kNever, ErrorCode::device);
  losing.loses_candidates = true;
  const auto result =
      Tuner({TuningDevice{losing, *journals_[0], nullptr, {}}}, options_).run(items_, observer_, interrupted_).front();
  EXPECT_EQ(result.ending, Ending::cut);
  EXPECT_THAT(result.reason, testing::HasSubstr("planted"));
  EXPECT_THAT(result.reason, testing::Not(testing::HasSubstr("no default to compare with"))) << "nothing was wrong";
}

TEST_F(TunerOnSeveralDevices, AnInterruptEndsTheRunsOfAllDevices) {
  interrupted_ = true;
  FailingExecutor first(kNever, ErrorCode::device), second(kNever, ErrorCode::device);
  for (const TuneResult& result : run(first, second)) EXPECT_EQ(result.ending, Ending::cut);
  EXPECT_EQ(observer_.num_finished, items_.size());
}

}  // namespace
}  // namespace attune
