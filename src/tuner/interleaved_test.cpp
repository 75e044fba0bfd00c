// SPDX-License-Identifier: MIT
#include "tuner/interleaved.h"

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <utility>

#include "base/error.h"
#include "device/device_kind.h"

namespace attune {
namespace {

/// An executor that finds every candidate right, and aborts each request once it is stopped, as a supervisor does when
/// it gives up starting a worker. It fails once a caller repeats a request without end.
class StoppableExecutor final : public Executor {
 public:
  const DeviceInfo& device() const override { return device_; }
  void begin(Request request) override {
    on_request(request);
    request_ = request;
    answer_ = is_stopped ? cancelled(request, 1) : std::visit([this](const auto& one) { return done(one); }, request);
  }
  int descriptor() const override { return -1; }
  std::optional<Answer> take() override { return std::exchange(answer_, std::nullopt); }
  void close(ProblemId) override { is_closed = true; }
  void drop(Slot) override {}
  void abort() override {
    is_stopped = true;
    answer_ = cancelled(request_, 1);
  }

  bool is_stopped = false, is_closed = false;
  Slot fails = 0;               ///< The candidate that is not admitted.
  Slot is_timed_by_events = 0;  ///< All others can be captured.
  Slot is_disturbed = 0;        ///< All its samples are dirty.
  Slot is_wrong_afterwards = 0;
  /// Called with each request before it is done.
  std::function<void(const Request&)> on_request = [](const Request&) {};

 private:
  static Answer done(const request::Open& open) { return OpenAnswer{.problem = open.id}; }
  Answer done(const request::Admit& admit) const {
    const Timing timing = admit.slot == is_timed_by_events ? Timing::events : Timing::graph;
    AdmitAnswer admitted{.slot = admit.slot, .timing = timing};
    if (admit.slot == fails) admitted.verified.status = Status::crashed;
    return admitted;
  }
  static Answer done(const request::Recycle&) { return RecycleAnswer{1}; }
  Answer done(const request::Sample& sample) {
    if (++num_samples_ > 10) fail(ErrorCode::internal, "a caller repeats a request without end");
    SampleAnswer answer;
    for (const Turn& turn : sample.schedule) {
      if (sample.recheck && turn.slot == is_wrong_afterwards)
        answer.failed.emplace_back(turn.slot, Outcome{.status = Status::wrong_result, .detail = "wrong afterwards"});
      if (sample.recheck) continue;
      answer.turns.push_back(turn);
      answer.samples.push_back({.us = turn.slot == 1 ? 5.0f : 40.0f, .dirty = turn.slot == is_disturbed});
    }
    answer.suspect = !answer.failed.empty();
    return answer;
  }

  DeviceInfo device_{.kind = "fake"};
  Request request_;
  std::optional<Answer> answer_;
  int num_samples_ = 0;
};

class Interleaved : public testing::Test {
 protected:
  std::vector<TimedCandidate> run() {
    const std::vector<Candidate> candidates = {Candidate::parse("fake.gemm@1:x=1"),
                                               Candidate::parse("fake.gemm@1:x=2")};
    return time_interleaved(executor_, Problem::parse("gemm_a16w16 m=1 n=1 k=1 dtype=fp32"), candidates, options_);
  }
  /// Stops the executor at the first request of a kind; fails when more than a few requests follow.
  template <typename Kind>
  void stop_at() {
    executor_.on_request = [this](const Request& request) {
      executor_.is_stopped = executor_.is_stopped || std::holds_alternative<Kind>(request);
      if (executor_.is_stopped && ++num_after_ > 5) fail(ErrorCode::internal, "a stopped request is made again");
    };
  }

  StoppableExecutor executor_;
  InterleavedOptions options_{.rounds = 3};
  int num_after_ = 0;
};

TEST_F(Interleaved, TimesEachCandidateInEachRound) {
  for (const TimedCandidate& one : run()) {
    ASSERT_TRUE(one.outcome.ok()) << one.outcome.detail;
    EXPECT_EQ(one.outcome.measurement->samples.size(), 3u);
  }
}

TEST_F(Interleaved, GraphsTimeAllOrNone) {
  std::vector<Timing> timings;
  executor_.on_request = [&](const Request& request) {
    if (const auto* open = std::get_if<request::Open>(&request)) {
      EXPECT_EQ(open->protocol.timing, Timing::graph) << "as the kind of the device says";
    }
    const auto* sample = std::get_if<request::Sample>(&request);
    if (sample == nullptr || sample->recheck) return;
    for (const Turn& turn : sample->schedule) timings.push_back(turn.timing);
  };
  for (const Timing expected : {Timing::graph, Timing::events}) {
    executor_.is_timed_by_events = expected == Timing::events ? 2 : 0;
    timings.clear();
    for (const TimedCandidate& one : run()) EXPECT_EQ(one.outcome.measurement->timing, expected);
    EXPECT_EQ(timings, std::vector<Timing>(6, expected));
  }
}

TEST_F(Interleaved, DeadlinesThatAreNotStatedAreThoseOfTheKindOfDevice) {
  const DeviceKind slow{.name = "slow", .load_deadline_s = 90, .run_deadline_s = 100};
  EXPECT_EQ(limits_on(slow, {}), (Limits{Milliseconds(90'000), Milliseconds(100'000)}));
  EXPECT_EQ(limits_on(DeviceKind(), {}).run, Milliseconds(60'000)) << "more than in a search";
  EXPECT_EQ(limits_on(slow, {Milliseconds(1), Milliseconds(2)}), (Limits{Milliseconds(1), Milliseconds(2)}));
  executor_.on_request = [&](const Request& request) {
    if (const auto* admit = std::get_if<request::Admit>(&request)) {
      EXPECT_EQ(admit->admission.limits, limits_on(device_kind("fake"), {}));
    }
    if (const auto* sample = std::get_if<request::Sample>(&request)) {
      EXPECT_GE(sample->schedule.front().limit, Milliseconds(60'000));
    }
  };
  run();
}

TEST_F(Interleaved, NothingIsComparedWithAFirstOneThatFailed) {
  executor_.fails = 1;
  const auto results = run();
  EXPECT_EQ(results[0].outcome.status, Status::crashed);
  EXPECT_TRUE(results[1].outcome.ok());
  EXPECT_EQ(results[1].comparison.us, 40);
  EXPECT_EQ(results[1].comparison.ratio, 0) << "it is no 1.000 against itself";
  executor_.fails = 0;
  EXPECT_NEAR(run()[1].comparison.ratio, 0.125, 1e-9);
}

TEST_F(Interleaved, ARatioWithoutACleanPairIsUnknown) {
  for (const Slot disturbed : {1u, 2u}) {
    executor_.is_disturbed = disturbed;
    const auto results = run();
    EXPECT_EQ(results[1].comparison.ratio, 0) << "it is no 1.000 of candidates that are 8 times apart";
    EXPECT_EQ(results[1].comparison.num_clean, 0u);
    EXPECT_EQ(results[0].comparison.ratio, 1) << "against itself";
  }
}

TEST_F(Interleaved, AllAreVerifiedAgainAfterTimingAndTheOthersTimedAnewWithoutOneThatIsWrong) {
  size_t num_rechecked = 0, num_timed = 0;
  executor_.on_request = [&](const Request& request) {
    const auto* sample = std::get_if<request::Sample>(&request);
    if (sample == nullptr) return;
    (sample->recheck ? num_rechecked : num_timed) += sample->schedule.size();
    for (const Turn& turn : sample->schedule) EXPECT_TRUE(!sample->recheck || turn.launches > kCallsInARow);
  };
  run();
  EXPECT_EQ(num_rechecked, 2u);
  EXPECT_EQ(num_timed, 6u);
  executor_.is_wrong_afterwards = 2;
  const auto results = run();
  EXPECT_TRUE(results[0].outcome.ok());
  EXPECT_EQ(results[0].outcome.measurement->samples.size(), 3u);
  EXPECT_EQ(results[1].outcome.status, Status::wrong_result);
  EXPECT_FALSE(results[1].outcome.measurement);
  EXPECT_EQ(num_timed, 6u + 6 + 3);
}

TEST_F(Interleaved, AnInterruptWhileItSamplesEndsIt) {
  stop_at<request::Sample>();
  for (const TimedCandidate& one : run()) EXPECT_EQ(one.outcome.status, Status::cancelled);
  EXPECT_TRUE(executor_.is_closed);
}

TEST_F(Interleaved, AnInterruptWhileASecondProcessStartsEndsIt) {
  options_.protocol.require = Requirement::deterministic;
  stop_at<request::Recycle>();
  for (const TimedCandidate& one : run()) EXPECT_EQ(one.outcome.status, Status::cancelled);
}

TEST_F(Interleaved, AnInterruptThatItsTickReportsEndsIt) {
  int num_ticks = 0;
  options_.tick = [&] { return ++num_ticks > 3; };  // after the problem was opened and both were admitted
  for (const TimedCandidate& one : run()) EXPECT_EQ(one.outcome.status, Status::cancelled);
  options_.tick = [] { return true; };
  EXPECT_THROW(run(), Error) << "the problem is not opened";
}

}  // namespace
}  // namespace attune
