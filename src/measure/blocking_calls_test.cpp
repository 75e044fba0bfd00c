// SPDX-License-Identifier: MIT
#include "measure/blocking_calls.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/error.h"
#include "testing/poll_loop.h"

namespace attune {
namespace {

/// An executor whose worker is the test: finish() makes the answer, and abort() works as in every executor.
class ManualExecutor final : public Executor {
 public:
  const DeviceInfo& device() const override { return device_; }
  void begin(Request request) override { request_ = std::move(request); }
  int descriptor() const override { return is_in_this_process ? -1 : pipe_.descriptor(); }
  std::optional<Answer> take() override {
    ++num_takes;
    if (!answer_) return std::nullopt;
    pipe_.take();
    request_.reset();
    return std::exchange(answer_, std::nullopt);
  }
  void close(ProblemId) override {}
  void drop(Slot) override {}
  void abort() override {
    ++num_aborts;
    finish(cancelled(*request_, 3));
  }
  void set_tick(Tick tick) override { waiting = std::move(tick); }
  void finish(Answer answer) {
    answer_ = std::move(answer);
    pipe_.put();
  }

  bool is_outstanding() const { return request_.has_value(); }

  bool is_in_this_process = false;
  int num_takes = 0, num_aborts = 0;
  Tick waiting;  ///< The tick that it calls while it waits for a worker.

 private:
  DeviceInfo device_;
  Pipe pipe_;
  std::optional<Request> request_;
  std::optional<Answer> answer_;
};

TEST(BlockingCalls, ReturnTheAnswerOfTheirRequest) {
  ManualExecutor executor;
  const auto after = [&](Answer answer) {
    return [&executor, answer, done = false]() mutable {
      if (!std::exchange(done, true)) executor.finish(answer);
      return false;
    };
  };
  EXPECT_EQ(open(executor, {7, {}, {}}, after(OpenAnswer{.problem = 7, .refused = "no"})).refused, "no");
  EXPECT_EQ(admit(executor, {7, 4, {}}, after(AdmitAnswer{.slot = 4, .batch = 5})).batch, 5u);
  EXPECT_EQ(sample(executor, {{}}, after(SampleAnswer{.epoch = 6})).epoch, 6u);
  EXPECT_EQ(recycle(executor, after(RecycleAnswer{.epoch = 8})).epoch, 8u);
  EXPECT_EQ(executor.num_aborts, 0);
}

TEST(BlockingCalls, TickOnceASecondAtLeastWhileNothingHappens) {
  ManualExecutor executor;
  int num_ticks = 0;
  const auto began = std::chrono::steady_clock::now();
  recycle(executor, [&] {
    if (++num_ticks == 2) executor.finish(RecycleAnswer{});
    return false;
  });
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(1))
      << "the wait itself leaves time for others";
  EXPECT_LT(executor.num_takes, 5) << "it sleeps meanwhile";
}

TEST(BlockingCalls, LetTheExecutorTickUntilTheyReturn) {
  ManualExecutor executor;
  int num_ticks = 0;
  recycle(executor, [&] {
    EXPECT_TRUE(executor.waiting) << "before it is asked for anything";
    if (++num_ticks == 1) {
      executor.waiting();
      executor.finish(RecycleAnswer{});
    }
    return false;
  });
  EXPECT_EQ(num_ticks, 2);
  EXPECT_FALSE(executor.waiting) << "what the tick refers to may be gone";
}

TEST(BlockingCalls, AbortOnceWhenTheTickAsksForIt) {
  ManualExecutor executor;
  const auto stop = [] { return true; };
  EXPECT_EQ(admit(executor, {7, 4, {}}, stop).verified.status, Status::cancelled);
  const SampleAnswer sampled = sample(executor, {{}}, stop);
  EXPECT_TRUE(sampled.interrupted && sampled.is_cancelled);
  EXPECT_EQ(recycle(executor, stop).epoch, 3u);
  EXPECT_EQ(executor.num_aborts, 3);
}

TEST(BlockingCalls, LetTheirCallerWorkBesideTheRequest) {
  ManualExecutor executor;
  int num_calls = 0;
  const AdmitAnswer answer = admit(executor, {7, 4, {}}, {}, [&] {
    ++num_calls;
    EXPECT_TRUE(executor.is_outstanding());
    EXPECT_EQ(executor.num_takes, 1) << "which sends it to a worker";
    executor.finish(AdmitAnswer{.slot = 4, .batch = 5});
  });
  EXPECT_EQ(answer.batch, 5u);
  EXPECT_EQ(num_calls, 1);
}

TEST(BlockingCalls, WorkBesideARequestThatIsAnsweredAtOnce) {
  ManualExecutor executor;
  int num_calls = 0;
  const auto answer_at_once = [&] {
    if (num_calls == 0 && executor.num_takes == 0) executor.finish(AdmitAnswer{.slot = 4, .batch = 5});
    return false;
  };
  EXPECT_EQ(admit(executor, {7, 4, {}}, answer_at_once, [&] { ++num_calls; }).batch, 5u);
  EXPECT_EQ(num_calls, 1);
}

TEST(BlockingCalls, WorkBeforeARequestThatIsDoneInThisProcess) {
  ManualExecutor executor;
  executor.is_in_this_process = true;
  const AdmitAnswer answer = admit(executor, {7, 4, {}}, {}, [&] {
    EXPECT_TRUE(executor.is_outstanding());
    EXPECT_EQ(executor.num_takes, 0) << "it would do the request";
    executor.finish(AdmitAnswer{.slot = 4, .batch = 5});
  });
  EXPECT_EQ(answer.batch, 5u);
}

TEST(BlockingCalls, AbortTheRequestWhenTheWorkBesideItFails) {
  const auto failing = [] { fail(ErrorCode::io, "planted"); };
  ManualExecutor executor;
  EXPECT_THROW(admit(executor, {7, 4, {}}, {}, failing), Error);
  EXPECT_EQ(executor.num_aborts, 1);
  EXPECT_FALSE(executor.is_outstanding());
  EXPECT_FALSE(executor.waiting) << "what the tick refers to may be gone";
  const auto stop = [] { return true; };
  EXPECT_THROW(admit(executor, {7, 4, {}}, stop, failing), Error);
  EXPECT_EQ(executor.num_aborts, 2) << "the tick's is enough";
  EXPECT_FALSE(executor.is_outstanding());
}

TEST(AnExecutor, IsWaitedForBesideOtherThingsInOnePoll) {
  ManualExecutor executor;
  const Pipe pipe;
  int num_bytes = 0;
  executor.begin(request::Sample{});
  for (int i = 0; i < 3; ++i) pipe.put();
  const auto answer = answer_beside(executor, pipe, [&] {
    if (++num_bytes == 3) executor.finish(SampleAnswer{.epoch = 2});
  });
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<SampleAnswer>(*answer).epoch, 2u);
  EXPECT_EQ(num_bytes, 3) << "all before the answer";
  EXPECT_EQ(executor.num_takes, 1) << "it was left alone until then";
}

}  // namespace
}  // namespace attune
