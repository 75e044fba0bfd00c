// SPDX-License-Identifier: MIT
// Sources of work: the list, and a file of another program's making, as the smallest second one.
#include "tuner/work_source.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <map>

#include "device/fake/fake_device.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "solver/registry.h"
#include "testing/test_files.h"
#include "testing/tuner_doubles.h"
#include "tuner/tuner.h"
#include "tuner/work_list.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

WorkItem item(int64_t m, int64_t k = 16) {
  const auto problem = Problem::parse(fmt::format("gemm_a16w16 m={} n=16 k={} dtype=fp32", m, k));
  return {.problem = op_of(problem).normalise(problem, {})};
}

/// Gives out the problems of a file, one a line, and writes `<problem> <ending>` into another. Lines may be added while
/// it is read.
class WorkFile final : public WorkSource {
 public:
  WorkFile(const std::filesystem::path& todo, const std::filesystem::path& results) : todo_(todo), results_(results) {}

  std::optional<Task> take() override {
    if (!waiting_.empty()) {
      const auto work = waiting_.extract(waiting_.begin());
      open_.emplace(work.key(), work.mapped());
      return Task{work.key(), work.mapped()};
    }
    std::string line;
    todo_.clear();
    if (!std::getline(todo_, line)) return std::nullopt;
    const auto problem = Problem::parse(line);
    const WorkItem read{.problem = op_of(problem).normalise(problem, {})};
    open_.emplace(++last_, read);
    return Task{last_, read};
  }
  void done(ProblemId id, const TuneResult& result) override {
    open_.erase(id);
    results_ << result.problem.integer("m") << ' ' << name(result.ending) << std::endl;
  }
  void give_back(ProblemId id) override { waiting_.insert(open_.extract(id)); }
  bool is_lost(ProblemId id) override { return id == lost_; }
  Remaining remaining() override {
    todo_.clear();
    const bool has_more = todo_.peek() != std::ifstream::traits_type::eof();
    return {waiting_.size() + has_more, open_.size(), static_cast<double>(open_.size())};
  }
  void lose(ProblemId id) { lost_ = id; }

 private:
  std::ifstream todo_;
  std::ofstream results_;
  std::map<ProblemId, WorkItem> waiting_, open_;
  ProblemId last_ = 0, lost_ = ~ProblemId{0};
};

class WorkSourceTest : public testing::Test {
 protected:
  WorkSourceTest() {
    options_.contest.confirm.delay_s = 0;
    options_.strategy.max_trials = 4;
  }
  void write(const std::string& lines) { std::ofstream(todo_, std::ios::app) << lines; }
  std::string run(WorkSource& source, TuneObserver& observer) {
    return Tuner(executor_, *journal_, options_).run(source, observer, interrupted_);
  }

  TestFolder folder_;
  std::filesystem::path todo_ = folder_.path() / "todo", results_ = folder_.path() / "results";
  FakeDevice device_;
  LocalExecutor executor_{device_, registry()};
  std::unique_ptr<Journal> journal_ = open_memory_journal();
  TunerOptions options_;
  std::atomic<bool> interrupted_ = false;
};

/// Adds a problem to the file when the first one ends.
class AddingObserver final : public TuneObserver {
 public:
  explicit AddingObserver(std::function<void()> add) : add_(std::move(add)) {}
  void progress(const Problem&, Phase, size_t) override {}
  void finished(const TuneResult&) override {
    if (num_finished++ == 0) add_();
  }
  void tick() override { ++num_ticks; }
  size_t num_finished = 0, num_ticks = 0;

 private:
  std::function<void()> add_;
};

TEST_F(WorkSourceTest, AFileThatGrowsIsWorkUntilItsEnd) {
  write("gemm_a16w16 m=1 n=16 k=16 dtype=fp32\ngemm_a16w16 m=2 n=16 k=16 dtype=fp32\n");
  WorkFile file(todo_, results_);
  AddingObserver observer([&] { write("gemm_a16w16 m=3 n=16 k=16 dtype=fp32\n"); });
  EXPECT_EQ(run(file, observer), "");
  EXPECT_EQ(observer.num_finished, 3u);
  EXPECT_GT(observer.num_ticks, 3u);
  std::ifstream results(results_);
  std::vector<std::string> lines;
  for (std::string line; std::getline(results, line);) lines.push_back(line);
  EXPECT_THAT(lines, testing::UnorderedElementsAre("1 decided", "2 decided", "3 decided"));
}

TEST_F(WorkSourceTest, AProblemIsGivenUpAlone) {
  WorkList list({item(1), item(2), item(3)}, device_.info(), false);
  list.give_up(1);
  SilentObserver observer;
  EXPECT_EQ(run(list, observer), "");
  const auto results = list.take_results();
  ASSERT_THAT(results, SizeIs(3));
  EXPECT_EQ(results[0].ending, Ending::decided);
  EXPECT_EQ(results[1].ending, Ending::cut);
  EXPECT_EQ(results[1].reason, "it was given up before a decision");
  EXPECT_EQ(results[2].ending, Ending::decided);
}

/// A list that leases its problems: a problem is lost if its lease is not renewed in time.
class LeasedList final : public WorkSource {
 public:
  LeasedList(std::vector<WorkItem> items, const DeviceInfo& device, double lease_s, std::function<double()> now_s)
      : list_(std::move(items), device, false), lease_s_(lease_s), now_s_(std::move(now_s)) {}
  std::optional<Task> take() override {
    auto task = list_.take();
    if (task) ends_s_[task->id] = now_s_() + lease_s_;
    return task;
  }
  void done(ProblemId id, const TuneResult& result) override {
    ends_s_.erase(id);
    list_.done(id, result);
  }
  void give_back(ProblemId id) override {
    ends_s_.erase(id);
    list_.give_back(id);
  }
  bool is_lost(ProblemId id) override { return list_.is_lost(id) || now_s_() > ends_s_.at(id); }
  Remaining remaining() override { return list_.remaining(); }
  void renew() {
    for (auto& [id, end_s] : ends_s_) end_s = now_s_() + lease_s_;
  }
  std::vector<TuneResult> take_results() { return list_.take_results(); }

 private:
  WorkList list_;
  double lease_s_;
  std::function<double()> now_s_;
  std::map<ProblemId, double> ends_s_;
};

/// Renews the leases at each tick, until `until` has so many results.
class RenewingObserver final : public TuneObserver {
 public:
  RenewingObserver(std::function<void()> renew, size_t until) : renew_(std::move(renew)), until_(until) {}
  void progress(const Problem&, Phase, size_t) override {}
  void finished(const TuneResult&) override { ++num_finished_; }
  void tick() override {
    if (num_finished_ < until_) renew_();
  }

 private:
  std::function<void()> renew_;
  size_t until_, num_finished_ = 0;
};

TEST_F(WorkSourceTest, ALeaseIsRenewedByTicksAndAProblemWhoseLeaseEndsIsLostAlone) {
  TestClock clock;
  const auto results_if_renewed = [&](size_t until) {
    // Each look at the clock moves it by a millisecond, so a tuning lasts many leases.
    LeasedList leased({item(1), item(2), item(3), item(4)}, device_.info(), 0.05, [&] { return clock.now_s(); });
    RenewingObserver observer([&] { leased.renew(); }, until);
    journal_ = open_memory_journal();
    EXPECT_EQ(Tuner(executor_, *journal_, options_, clock).run(leased, observer, interrupted_), "");
    return leased.take_results();
  };
  for (const TuneResult& result : results_if_renewed(9)) EXPECT_EQ(result.ending, Ending::decided) << result.reason;
  size_t num_lost = 0;
  for (const TuneResult& result : results_if_renewed(2)) {
    if (result.ending == Ending::decided) continue;
    ++num_lost;
    EXPECT_EQ(result.reason, "it was given up before a decision");
  }
  EXPECT_GE(num_lost, 1u);
  EXPECT_LE(num_lost, 2u) << "the first two had their leases renewed";
}

TEST_F(WorkSourceTest, WorkThatWaitsAtAnInterruptStaysWithTheSource) {
  write("gemm_a16w16 m=1 n=16 k=16 dtype=fp32\n");
  WorkFile file(todo_, results_);
  interrupted_ = true;
  SilentObserver observer;
  EXPECT_EQ(run(file, observer), "interrupted before a decision");
  EXPECT_EQ(file.remaining().num_waiting, 1u);
  EXPECT_THAT(observer.order, SizeIs(0));
}

TEST(WorkList, GivesTheLongestFirstToSeveralAndTheInputsOrderToOne) {
  const FakeDevice fake;
  const DeviceInfo& device = fake.info();
  const std::vector<WorkItem> items = {item(1), item(1 << 16, 1 << 16), item(1 << 14, 1 << 14)};
  WorkList several(items, device, true), one(items, device, false);
  EXPECT_EQ(several.take()->id, 1u);
  EXPECT_EQ(several.take()->id, 2u);
  several.give_back(1);
  EXPECT_EQ(several.take()->id, 1u);
  const double cost_s = one.remaining().cost_s;
  EXPECT_EQ(one.take()->id, 0u);
  EXPECT_EQ(one.remaining().num_waiting, 2u);
  EXPECT_EQ(one.remaining().num_open, 1u);
  one.done(0, {});
  EXPECT_EQ(one.remaining().num_open, 0u);
  EXPECT_LT(one.remaining().cost_s, cost_s);
}

TEST(WorkList, WhatStillWaitsIsCutAndReported) {
  WorkList list({item(1), item(2)}, {}, false);
  list.done(list.take()->id, {.problem = item(1).problem, .ending = Ending::decided});
  SilentObserver observer;
  list.cut_waiting("the budget ran out", observer);
  EXPECT_THAT(observer.order, ElementsAre(item(2).problem.key()));
  const auto results = list.take_results();
  EXPECT_EQ(results[0].ending, Ending::decided);
  EXPECT_EQ(results[1].ending, Ending::cut);
  EXPECT_EQ(results[1].reason, "the budget ran out");
}

}  // namespace
}  // namespace attune
