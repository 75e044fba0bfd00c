// SPDX-License-Identifier: MIT
#include "campaign/online/online_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "formats/csv/key_cells.h"
#include "formats/csv/untuned_table.h"
#include "process/temporary_folder.h"
#include "testing/campaign_values.h"

namespace attune {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

/// A queue in a temporary folder, and a tuner that records its calls and answers as a test wants.
class OnlineQueueRun : public testing::Test {
 protected:
  OnlineQueueRun() {
    calls_.tune = [this](const FamilySpec& family, std::span<const Problem> problems) {
      EXPECT_EQ(family.op, "gemm_a16w16");
      std::vector<int64_t> ms;
      for (const Problem& problem : problems) ms.push_back(problem.integer("m"));
      asked_.push_back(ms);
      return answer_(problems);
    };
    calls_.report = [this](const std::string& line) { said_.push_back(line); };
    answer_ = tuned;
  }
  static CampaignResult tuned(std::span<const Problem> problems) {
    CampaignResult result;
    for (const Problem& problem : problems) result.shapes.push_back(decided(problem, 1));
    return result;
  }
  /// An answer in which every shape ends without a row.
  static auto all_end(Ending ending, int status) {
    return [=](std::span<const Problem> problems) {
      CampaignResult result{status, {}};
      for (const Problem& problem : problems) result.shapes.push_back(undecided(problem, ending, "because"));
      return result;
    };
  }
  void add(const std::vector<int>& ms) const {
    std::vector<Problem> problems;
    for (const int m : ms) problems.push_back(test_problem(m));
    make_private_folder(queue_.folder());
    queue_.add(family_, problems);
  }
  OnlineEnd run(bool retry = false) {
    asked_.clear();
    said_.clear();
    return empty_queue(queue_, device_, calls_, retry);
  }
  OnlineAttempts attempts() const { return OnlineAttempts(queue_.folder() / "attempts.csv"); }
  /// A shape as read from the queue; attempts use this spelling.
  Problem queue_problem(int m = 1) const {
    const Problem problem = test_problem(m);
    const CsvDocument list = CsvDocument::parse(untuned_text(family_, {&problem, 1}), "list");
    return KeyCells(list, family_, Strictness::shape).problem(0);
  }
  void give_up(int m, const std::string& reason) const {
    make_private_folder(queue_.folder());
    OnlineAttempts before = attempts();
    before.give_up(queue_problem(m), reason);
    before.save();
  }
  /// Records a shape like processes that end while they tune it.
  void begin_and_die(int m, int64_t times) const {
    OnlineAttempts before = attempts();
    for (int64_t i = 0; i < times; ++i) before.begin(queue_problem(m));
    before.save();
  }
  std::vector<int64_t> waiting() const {
    std::vector<int64_t> ms;
    for (const WaitingShapes& shapes : queue_.read())
      for (const Problem& problem : shapes.problems) ms.push_back(problem.integer("m"));
    return ms;
  }

  const FamilySpec& family_ = *find_family("gemm_a16w16");
  TemporaryFolder state_{"online_test"};
  DeviceInfo device_ = test_device();
  OnlineQueue queue_{state_.path(), device_};
  std::function<CampaignResult(std::span<const Problem>)> answer_;
  OnlineCalls calls_;
  std::vector<std::vector<int64_t>> asked_;  ///< M of the shapes of each call.
  std::vector<std::string> said_;
};

TEST_F(OnlineQueueRun, TunesWhatWaitsAFewShapesAtATime) {
  add({1, 2, 3, 4, 5, 6});
  const OnlineEnd end = run();
  EXPECT_EQ(end.status, 0);
  EXPECT_TRUE(end.had_turn);
  EXPECT_THAT(asked_, ElementsAre(ElementsAre(1, 2, 3, 4), ElementsAre(5, 6)));
  EXPECT_THAT(said_, ElementsAre("online tuning on fake:0: 6 shapes tuned, 0 given up; queue: '" +
                                 queue_.folder().string() + "'"));
  EXPECT_FALSE(queue_.is_waiting());
  EXPECT_FALSE(attempts().is_suspect(queue_problem()));
}

TEST_F(OnlineQueueRun, NothingWaits) {
  EXPECT_EQ(run().status, 0);
  EXPECT_THAT(asked_, IsEmpty());
  EXPECT_THAT(said_, ElementsAre(HasSubstr("0 shapes tuned, 0 given up")));
}

TEST_F(OnlineQueueRun, ARowThatIsThereCountsAsTuned) {
  add({1});
  answer_ = all_end(Ending::kept, 0);
  run();
  EXPECT_THAT(said_, ElementsAre(HasSubstr("1 shape tuned, 0 given up")));
  EXPECT_FALSE(queue_.is_waiting());
}

TEST_F(OnlineQueueRun, AShapeThatComesToNothingIsGivenUp) {
  add({1});
  answer_ = all_end(Ending::cut, 1);
  EXPECT_EQ(run().status, 0) << "the others are to be tuned";
  EXPECT_THAT(said_, ElementsAre("given up: " + queue_problem().key() + ": cut: because",
                                 HasSubstr("0 shapes tuned, 1 given up")));
  EXPECT_FALSE(queue_.is_waiting());
  EXPECT_EQ(attempts().given_up(queue_problem()), "cut: because");
}

TEST_F(OnlineQueueRun, AShapeThatLacksMemoryIsTriedAgainLaterByItself) {
  int64_t now = 1'000'000;
  calls_.now_s = [&] { return now; };
  answer_ = [](std::span<const Problem> problems) {
    CampaignResult result = tuned(problems.subspan(1));
    result.status = 1;
    result.shapes.push_back(undecided(problems[0], Ending::cut, "it needs 141 MiB"));
    result.shapes.back().lacks_memory = true;
    return result;
  };
  add({1, 2});
  OnlineEnd end = run();
  EXPECT_EQ(end.status, 0);
  EXPECT_TRUE(end.is_waiting);
  EXPECT_THAT(said_, ElementsAre("waits for memory: " + queue_problem().key() +
                                     ": it needs 141 MiB; tried again after 4 minutes",
                                 HasSubstr("1 shape tuned, 0 given up, 1 waiting for memory")));
  EXPECT_THAT(waiting(), ElementsAre(1));
  run();
  EXPECT_THAT(asked_, IsEmpty()) << "it is too early";
  now += OnlineAttempts::kFirstWaitS;
  add({3});
  EXPECT_TRUE(run().is_waiting);
  EXPECT_THAT(asked_, ElementsAre(ElementsAre(1, 3)));
  EXPECT_THAT(said_, Contains(HasSubstr("after 8 minutes")));
  answer_ = tuned;
  EXPECT_TRUE(run().is_waiting);
  EXPECT_THAT(asked_, IsEmpty());
  now += 2 * OnlineAttempts::kFirstWaitS;
  end = run();
  EXPECT_THAT(asked_, ElementsAre(ElementsAre(1)));
  EXPECT_FALSE(end.is_waiting);
  EXPECT_FALSE(queue_.is_waiting());
}

TEST_F(OnlineQueueRun, RetryTriesWhatWaitsForMemoryAtOnce) {
  make_private_folder(queue_.folder());
  OnlineAttempts before = attempts();
  before.postpone(queue_problem(), 1'000'000);
  before.save();
  calls_.now_s = [] { return 1'000'001; };
  add({1});
  run();
  EXPECT_THAT(asked_, IsEmpty());
  run(true);
  EXPECT_THAT(asked_, ElementsAre(ElementsAre(1)));
}

TEST_F(OnlineQueueRun, AGivenUpShapeIsNotTriedAgain) {
  give_up(1, "because");
  add({1});  // An application asks for it again.
  run();
  EXPECT_THAT(asked_, IsEmpty());
  EXPECT_FALSE(queue_.is_waiting());
  EXPECT_EQ(attempts().given_up(queue_problem()), "because");
}

TEST_F(OnlineQueueRun, RetryTunesWhatWasGivenUp) {
  give_up(1, "because");
  run(true);
  EXPECT_THAT(asked_, ElementsAre(ElementsAre(1)));
  EXPECT_EQ(attempts().given_up(queue_problem()), "");
}

TEST_F(OnlineQueueRun, AShapeThatTheRunSkippedIsGivenUp) {
  add({1, 2});
  answer_ = [](std::span<const Problem> problems) { return tuned(problems.first(1)); };
  run();
  EXPECT_THAT(said_, Contains(AllOf(HasSubstr("m=2 "), HasSubstr("the run skipped it"))));
  EXPECT_THAT(said_, Contains(HasSubstr("1 shape tuned, 1 given up")));
}

TEST_F(OnlineQueueRun, AfterASignalTheRestWaitsAndNoAttemptCounts) {
  add({1, 2});
  answer_ = [](std::span<const Problem> problems) {
    CampaignResult result{128 + 15, {decided(problems[0], 1)}};
    result.shapes.push_back(undecided(problems[1], Ending::cut, "interrupted"));
    return result;
  };
  EXPECT_EQ(run().status, 143);
  EXPECT_THAT(asked_, SizeIs(1));
  EXPECT_THAT(waiting(), ElementsAre(2));
  EXPECT_FALSE(attempts().is_suspect(queue_problem(2)));
}

class OnlineQueueRunAfter : public OnlineQueueRun, public testing::WithParamInterface<std::pair<ErrorCode, bool>> {};

TEST_P(OnlineQueueRunAfter, AnErrorTheShapeWaitsAndItsAttemptCountsIfItMayBeTheCause) {
  add({1});
  answer_ = [&](std::span<const Problem>) -> CampaignResult { fail(GetParam().first, "planted"); };
  EXPECT_THROW(run(), Error);
  EXPECT_THAT(waiting(), ElementsAre(1));
  EXPECT_EQ(attempts().is_suspect(queue_problem()), GetParam().second);
}

INSTANTIATE_TEST_SUITE_P(Codes, OnlineQueueRunAfter,
                         testing::Values(std::pair(ErrorCode::device, true), std::pair(ErrorCode::internal, true),
                                         std::pair(ErrorCode::io, false), std::pair(ErrorCode::database, false)));

TEST_F(OnlineQueueRun, TheAttemptIsRecordedBeforeTheTuningBegins) {
  add({1});
  bool was_suspect = false;
  answer_ = [&](std::span<const Problem> problems) {
    was_suspect = attempts().is_suspect(problems[0]);
    return tuned(problems);
  };
  run();
  EXPECT_TRUE(was_suspect) << "if the process dies now, the next one knows the shape";
}

TEST_F(OnlineQueueRun, AShapeDuringWhichAProcessEndedIsTunedLastAndAlone) {
  add({1, 2, 3});
  begin_and_die(2, 1);
  run();
  EXPECT_THAT(asked_, ElementsAre(ElementsAre(1, 3), ElementsAre(2)));
}

TEST_F(OnlineQueueRun, AShapeThatEndsTheProcessEachTimeIsGivenUp) {
  add({1, 2});
  begin_and_die(2, OnlineAttempts::kMaxStarts);
  run();
  EXPECT_THAT(asked_, ElementsAre(ElementsAre(1)));
  EXPECT_THAT(said_, Contains(HasSubstr("its tuning was started 5 times, and the program was ended each time")));
  EXPECT_FALSE(queue_.is_waiting());
}

TEST_F(OnlineQueueRun, WhatCannotBeTunedIsGivenUpWithoutACall) {
  const auto& all = families();
  const auto other = std::find_if(all.begin(), all.end(),
                                  [](const FamilySpec& one) { return one.op == "gemm_a8w8_blockscale_bpreshuffle"; });
  ASSERT_NE(other, all.end());
  ASSERT_FALSE(other->tunable);
  make_private_folder(queue_.folder());
  const Problem problem = Problem::parse("gemm_a8w8_blockscale_bpreshuffle m=1 n=32 k=48");
  queue_.add(*other, {&problem, 1});
  add({2});
  run();
  EXPECT_THAT(asked_, ElementsAre(ElementsAre(2)));
  EXPECT_THAT(said_, Contains(HasSubstr("this version cannot tune gemm_a8w8_blockscale_bpreshuffle")));
  EXPECT_FALSE(queue_.is_waiting());
}

TEST_F(OnlineQueueRun, ALineThatIsNoShapeIsReportedAndRemoved) {
  add({1});
  write_file_atomically(queue_.file(family_), read_file(queue_.file(family_)) + "what is this\n");
  run();
  EXPECT_THAT(said_, Contains(AllOf(StartsWith("note: "), HasSubstr("a line is not a shape and is skipped"))));
  EXPECT_THAT(asked_, ElementsAre(ElementsAre(1)));
  EXPECT_FALSE(queue_.is_waiting());
}

TEST_F(OnlineQueueRun, EndsBetweenTwoCallsWhenItIsOver) {
  add({1, 2, 3, 4, 5});
  calls_.is_over = [this] { return !asked_.empty(); };
  EXPECT_EQ(run().status, 0);
  EXPECT_THAT(asked_, ElementsAre(ElementsAre(1, 2, 3, 4)));
  EXPECT_THAT(waiting(), ElementsAre(5));
}

TEST_F(OnlineQueueRun, WithoutTheTurnNothingIsDone) {
  add({1});
  bool begun = false;
  calls_.begin = [&] { begun = true; };
  const FileLock turn(queue_.turn(), FileLock::Use::alone, 0);
  const OnlineEnd end = run();
  EXPECT_FALSE(end.had_turn);
  EXPECT_EQ(end.status, 0);
  EXPECT_THAT(asked_, IsEmpty());
  EXPECT_THAT(said_, IsEmpty());
  EXPECT_FALSE(begun);
  EXPECT_THAT(waiting(), ElementsAre(1));
}

TEST_F(OnlineQueueRun, LooksAgainAfterItReleasedTheTurn) {
  add({1});
  int num_begun = 0;
  calls_.begin = [&] { ++num_begun; };
  calls_.report = [this](const std::string& line) {
    said_.push_back(line);
    // An application adds a shape just after the run's last look; the program it starts does not get the turn.
    if (said_.size() == 1) add({2});
  };
  run();
  EXPECT_THAT(asked_, ElementsAre(ElementsAre(1), ElementsAre(2)));
  EXPECT_THAT(said_, ElementsAre(HasSubstr("1 shape tuned"), HasSubstr("1 shape tuned")));
  EXPECT_EQ(num_begun, 1);
}

TEST(OnlineMethod, TunesShapesAsValuesIntoTheTableOfTheFamilyInTheOverlayRowByRow) {
  OnlineMethod method;
  method.overlay = "/state/overlay";
  method.timeout = "9s";
  const std::vector<Problem> problems = {test_problem(1), test_problem(2)};
  const TuneOptions options = online_tune_options(method, *find_family("gemm_a16w16"), problems);
  EXPECT_EQ(options.problems, problems);
  EXPECT_EQ(options.input, "");
  EXPECT_EQ(options.op, "gemm_a16w16");
  EXPECT_EQ(options.output, "/state/overlay/bf16_tuned_gemm.csv");
  EXPECT_EQ(options.batch, 1);
  EXPECT_EQ(options.timeout, "9s");
  EXPECT_EQ(options.max_trials, 24u);
  EXPECT_EQ(options.quiet_wait_s, 0);
}

}  // namespace
}  // namespace attune
