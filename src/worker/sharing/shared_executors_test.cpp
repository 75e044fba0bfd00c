// SPDX-License-Identifier: MIT
// Two executors with workers of one device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>

#include "testing/pipe.h"
#include "testing/worker_fixture.h"
#include "worker/sharing/shared_device.h"

namespace attune {
namespace {

/// Long enough for an admission and for the answer of another process.
constexpr Milliseconds kShort{200};

class SharedExecutorsTest : public WorkerExecutorTest {
 protected:
  SharedExecutorsTest() { options_.shared = std::make_shared<SharedDevice>(); }

  /// Opens the problem in both and admits a candidate to each.
  void open_both() {
    for (WorkerExecutor* one : {&executor(), &other_executor()}) {
      ASSERT_EQ(attune::open(*one, {1, problem_, {}}).refused, "");
      ASSERT_EQ(attune::admit(*one, admission(1, bad_)).verified.status, Status::ok);
    }
  }
  WorkerExecutor& other_executor() {
    if (!second_) second_ = std::make_unique<WorkerExecutor>(options_);
    return *second_;
  }
  static request::Sample one_turn() { return {{Turn{1, 0, 1, Milliseconds(20'000)}}}; }
  pid_t worker() { return executor().workers().processes.front(); }
  /// Begins a request that lasts until go_on().
  void begin_long(Request request) {
    ::kill(worker(), SIGSTOP);
    executor().begin(std::move(request));
    EXPECT_FALSE(executor().take());
  }
  SampleAnswer go_on() {
    ::kill(worker(), SIGCONT);
    return std::get<SampleAnswer>(finish().value());
  }
  /// Waits for the answer; nothing if it does not come in time.
  static std::optional<Answer> answer_within(WorkerExecutor& executor, Milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    for (;;) {
      if (auto answer = executor.take()) return answer;
      const auto left = std::chrono::duration_cast<Milliseconds>(end - std::chrono::steady_clock::now());
      if (left.count() <= 0) return std::nullopt;
      is_readable(executor.descriptor(), left);
    }
  }

  std::unique_ptr<WorkerExecutor> second_;
};

TEST_F(SharedExecutorsTest, NothingIsPreparedBesideASample) {
  open_both();
  begin_long(one_turn());
  other_executor().begin(admission(2, good_));
  EXPECT_FALSE(answer_within(other_executor(), kShort));
  EXPECT_EQ(go_on().samples.size(), 1u);
  const auto admitted = answer_within(other_executor(), Milliseconds(10'000));
  ASSERT_TRUE(admitted);
  EXPECT_EQ(std::get<AdmitAnswer>(*admitted).verified.status, Status::ok);
  EXPECT_GT(other_executor().workers().time[Activity::turn].wall_s, 0.15);
}

TEST_F(SharedExecutorsTest, SamplesAreTakenByOneAfterTheOther) {
  open_both();
  begin_long(one_turn());
  other_executor().begin(one_turn());
  EXPECT_FALSE(answer_within(other_executor(), kShort));
  go_on();
  EXPECT_TRUE(answer_within(other_executor(), Milliseconds(10'000)));
}

TEST_F(SharedExecutorsTest, CandidatesArePreparedSideBySide) {
  open_both();
  begin_long(admission(2, good_));
  other_executor().begin(admission(2, good_));
  EXPECT_TRUE(answer_within(other_executor(), Milliseconds(10'000)));
  EXPECT_FALSE(executor().take()) << "it is still preparing";
  ::kill(worker(), SIGCONT);
  EXPECT_TRUE(finish());
}

TEST_F(SharedExecutorsTest, ADeathWhileSamplingIsRecoveredAndHoldsTheOtherUpNoLonger) {
  open_both();
  begin_long(one_turn());
  other_executor().begin(admission(2, good_));
  EXPECT_FALSE(other_executor().take());
  ::kill(worker(), SIGKILL);
  ASSERT_TRUE(finish());
  EXPECT_EQ(executor().num_deaths(), 1u);
  const auto admitted = answer_within(other_executor(), Milliseconds(10'000));
  ASSERT_TRUE(admitted);
  EXPECT_EQ(std::get<AdmitAnswer>(*admitted).verified.status, Status::ok);
}

TEST_F(SharedExecutorsTest, AnAbortedOneHoldsTheOtherUpNoLonger) {
  open_both();
  begin_long(one_turn());
  other_executor().begin(admission(2, good_));
  EXPECT_FALSE(other_executor().take());
  executor().abort();
  EXPECT_TRUE(answer_within(other_executor(), Milliseconds(10'000)));
  EXPECT_TRUE(std::get<SampleAnswer>(executor().take().value()).is_cancelled);
}

TEST_F(SharedExecutorsTest, AnAbortedOneThatWaitsIsNotWaitedFor) {
  open_both();
  begin_long(one_turn());
  other_executor().begin(one_turn());
  EXPECT_FALSE(other_executor().take());
  other_executor().abort();
  EXPECT_TRUE(std::get<SampleAnswer>(other_executor().take().value()).is_cancelled);
  go_on();
  executor().begin(one_turn());
  EXPECT_TRUE(finish());
}

TEST_F(SharedExecutorsTest, AWaitIsNoStepOfWhichADeadlineRuns) {
  executor();
  options_.longest = Milliseconds(200);
  open_both();
  begin_long(one_turn());
  other_executor().begin(admission(2, good_));
  EXPECT_FALSE(answer_within(other_executor(), Milliseconds(500)));
  go_on();
  EXPECT_EQ(std::get<AdmitAnswer>(answer_within(other_executor(), Milliseconds(10'000)).value()).verified.status,
            Status::ok);
  EXPECT_EQ(other_executor().num_deaths(), 0u);
}

TEST_F(SharedExecutorsTest, AFreshWorkerStartsBesideNoSample) {
  open_both();
  begin_long(one_turn());
  other_executor().begin(request::Recycle{});
  EXPECT_FALSE(answer_within(other_executor(), kShort));
  go_on();
  EXPECT_TRUE(answer_within(other_executor(), Milliseconds(10'000)));
}

TEST_F(SharedExecutorsTest, AWorkerThatIsToStandByStartsWhenNobodySamples) {
  options_.spare = true;
  open_both();
  begin_long(one_turn());
  other_executor().prefetch(request::Open{0, problem_, {}, {}});
  EXPECT_EQ(other_executor().workers().processes.size(), 1u);
  other_executor().begin(admission(2, good_));
  EXPECT_FALSE(answer_within(other_executor(), kShort));
  EXPECT_EQ(other_executor().workers().processes.size(), 1u);
  go_on();
  ASSERT_TRUE(answer_within(other_executor(), Milliseconds(10'000)));
  EXPECT_EQ(other_executor().workers().processes.size(), 2u) << "it was told ahead";
  executor().begin(one_turn());
  other_executor().prefetch(std::nullopt);
  EXPECT_EQ(other_executor().workers().processes.size(), 1u);
  EXPECT_TRUE(answer_within(executor(), Milliseconds(10'000)))
      << "nobody looks at a worker that starts for one without work";
}

TEST_F(SharedExecutorsTest, EachHasItsPartOfTheMemory) {
  const auto info = open_device("fake:0")->info();
  // The product of this many rows takes half of the memory or more, but not all.
  const auto rows = static_cast<int64_t>(0.075 * static_cast<double>(info.memory_bytes) / (4 * 16 * 2));
  const Problem large =
      op_of(problem_).normalise(Problem::parse(fmt::format("gemm_a16w16 m={} n=16 k=16 dtype=fp32", rows)), info);
  options_.device_memory_share = 0.5;
  const OpenAnswer opened = attune::open(executor(), {1, large, {}});
  EXPECT_THAT(opened.refused, testing::HasSubstr("use --workers 1"));
}

}  // namespace
}  // namespace attune
