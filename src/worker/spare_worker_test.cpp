// SPDX-License-Identifier: MIT
#include "worker/spare_worker.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "testing/becomes_true.h"
#include "testing/slow_library.h"

namespace attune {
namespace {

/// This program is its own worker, with a library that takes long.
TEST(SlowWorker, DISABLED_IsThisProcess) { run_slow_worker(); }

class SpareWorkerTest : public SlowWorkerFixture {
 protected:
  Problem of_rows(int64_t m) const { return problem_.with("m", std::to_string(m)); }
  OpenAnswer open(ProblemId id, const Problem& problem) { return attune::open(executor(), {id, problem, {}, {}}); }
  request::Admit admission(ProblemId id, Slot slot, int64_t launch) const {
    const Candidate candidate{"slow.gemm", "1+1",
                              Config({{"launch", launch}, {"us", int64_t{SlowLibrary::kLaunchUs}}})};
    return {id, slot, {.candidate = candidate, .limits = {load_, Milliseconds(2000)}}};
  }
  AdmitAnswer admit(ProblemId id, Slot slot, int64_t launch) {
    return attune::admit(executor(), admission(id, slot, launch));
  }
  /// Announces a problem with this many rows as the next one.
  void tell(int64_t m) { executor().prefetch(request::Open{0, of_rows(m), {}, {}}); }
  /// The process that measures; the one that stands by, 0: none.
  pid_t worker() { return executor().workers().processes.front(); }
  pid_t spare() { return executor().workers().processes.size() < 2 ? 0 : executor().workers().processes.back(); }
  auto num_done(pid_t by, const std::string& what) const {
    return std::ranges::count(SlowLibrary::read(log_), std::pair(by, what));
  }
  bool becomes_done(pid_t by, const std::string& what) {
    return becomes_true([&] {
      executor().take();
      return num_done(by, what) > 0;
    });
  }
};

TEST_F(SpareWorkerTest, ListsTheNextProblemBesideTheWorkOnOthersAndItsWorkerListsNothing) {
  const auto first = open(1, problem_);
  ASSERT_EQ(first.contenders.at(0).space, SlowLibrary().open(*open_device("fake:0"))->space(problem_));
  EXPECT_EQ(admit(1, 6, 6).verified.status, Status::ok);
  EXPECT_EQ(spare(), 0) << "nobody has said that more comes";
  tell(4);
  EXPECT_EQ(spare(), 0) << "it begins beside an admission";
  EXPECT_EQ(admit(1, 1, 3).verified.status, Status::ok);
  ASSERT_TRUE(becomes_done(spare(), "list"));
  const pid_t lister = spare();
  EXPECT_EQ(open(2, of_rows(4)).contenders, first.contenders) << "as if its worker had listed them";
  EXPECT_EQ(num_done(worker(), "list"), 1);
  EXPECT_EQ(num_done(lister, "list"), 1);
  EXPECT_EQ(admit(2, 2, 5).verified.status, Status::ok) << "though its worker did not list it";
  executor().close(1);
  EXPECT_EQ(open(3, of_rows(2)).contenders, first.contenders) << "nobody had said that it comes";
  EXPECT_EQ(num_done(worker(), "list"), 2);
}

TEST_F(SpareWorkerTest, TakesOverWithItsLibrariesOpenWhereAFreshWorkerIsWanted) {
  open(1, problem_);
  tell(4);
  admit(1, 1, 3);
  const pid_t first = worker(), second = spare();
  ASSERT_TRUE(becomes_done(second, "list"));
  recycle();
  EXPECT_EQ(worker(), second);
  EXPECT_NE(spare(), 0) << "the next one stands by";
  EXPECT_NE(spare(), first);
  EXPECT_EQ(sample({1}).samples.size(), 3u);
  EXPECT_EQ(num_done(second, "open"), 1) << "it was opened before";
  EXPECT_EQ(num_done(second, "list"), 1) << "of what comes next, not of what is open and admitted";
  ::kill(worker(), SIGKILL);
  const pid_t third = spare();
  EXPECT_EQ(sample({1}).samples.size(), 3u);
  EXPECT_EQ(executor().num_deaths(), 1u);
  EXPECT_EQ(worker(), third) << "after a death, too";
}

TEST_F(SpareWorkerTest, WhatItDidBeforeItTookOverIsNobodysTime) {
  open(1, problem_);
  tell(4);
  admit(1, 1, 3);
  ASSERT_TRUE(becomes_done(spare(), "open"));
  std::this_thread::sleep_for(SlowLibrary::kOpen + Milliseconds(200));
  const auto began = std::chrono::steady_clock::now();  // Waiting counts from the answer on.
  sample({1});
  const TimeUse before = executor().workers().time;
  recycle();
  sample({1});
  TimeUse use = executor().workers().time;
  use -= before;
  EXPECT_LE(use.wall_s(), std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
}

TEST_F(SpareWorkerTest, NoSampleIsTakenWhileItOpensTheDevice) {
  open(1, problem_);
  tell(4);
  executor().begin(admission(1, 1, 3));
  EXPECT_FALSE(executor().take());
  ::kill(spare(), SIGSTOP);
  EXPECT_TRUE(finish());
  executor().begin(request::Sample{{Turn{1, 0, 1, Milliseconds(2000)}}});
  EXPECT_FALSE(executor().take());
  EXPECT_FALSE(is_readable(executor().descriptor(), Milliseconds(50)) && executor().take());
  ::kill(spare(), SIGCONT);
  const auto answer = finish();
  ASSERT_TRUE(answer);
  EXPECT_EQ(std::get<SampleAnswer>(*answer).samples.size(), 1u);
}

TEST_F(SpareWorkerTest, ItsDeathCostsNothingAndAfterTwoNobodyStandsBy) {
  open(1, problem_);
  std::ofstream(log_ + SlowLibrary::kDeadly) << "1";
  for (Slot slot = 1; slot <= 2; ++slot) {
    tell(4);
    EXPECT_EQ(admit(1, slot, 3).verified.status, Status::ok);
    ASSERT_NE(spare(), 0);
    ASSERT_TRUE(becomes_true([&] {
      executor().take();
      return spare() == 0;
    }));
  }
  std::filesystem::remove(log_ + SlowLibrary::kDeadly);
  EXPECT_EQ(admit(1, 3, 3).verified.status, Status::ok);
  EXPECT_EQ(spare(), 0);
  EXPECT_EQ(executor().num_deaths(), 0u);
  EXPECT_EQ(open(2, of_rows(4)).contenders.at(0).space.size(), uint64_t{SlowLibrary::kNumConfigs});
  EXPECT_EQ(sample({1, 2, 3}).samples.size(), 9u);
}

TEST_F(SpareWorkerTest, GivesItsMemoryUpIfOperandsFindNone) {
  const std::string full = log_ + ".full";
  options_.environment[SlowLibrary::kFullVariable] = full;
  ASSERT_EQ(open(1, problem_).refused, "");
  std::ofstream(full) << "1";
  ASSERT_TRUE(becomes_done(worker(), "full"));
  tell(4);
  EXPECT_TRUE(admit(1, 1, 3).lacks_memory) << "also the second time, without the spare worker";
  EXPECT_EQ(spare(), 0);
  std::filesystem::remove(full);
  Slot slot = 2;
  EXPECT_TRUE(becomes_true([&] { return admit(1, slot++, 3).verified.ok(); })) << "the problem is not broken";
  EXPECT_EQ(spare(), 0) << "none stands by any more";
  EXPECT_EQ(executor().num_deaths(), 0u);
}

TEST_F(SpareWorkerTest, AListThatDoesNotAgreeWithItsWorkerIsNotTaken) {
  OpenAnswer limited, whole;
  Contender contender;
  contender.solver = "slow.gemm";
  contender.space = SearchSpace::listed({Config::parse("x=1")});
  limited.contenders = {contender};
  contender.space = SearchSpace::listed({Config::parse("x=1"), Config::parse("x=2")});
  whole.contenders = {contender};
  Listing listing{problem_, whole};
  EXPECT_TRUE(complete(limited, listing));
  EXPECT_EQ(limited.contenders, whole.contenders);
  whole.contenders[0].version = "2";
  listing = {problem_, whole};
  EXPECT_FALSE(complete(limited, listing));
  whole.contenders.clear();
  listing = {problem_, whole};
  EXPECT_FALSE(complete(limited, listing));
}

}  // namespace
}  // namespace attune
