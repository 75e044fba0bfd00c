// SPDX-License-Identifier: MIT
#include "fleet/agent/fleet_work.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/device_lost.h"
#include "device/fake/fake_device.h"
#include "fleet/agent/patient_queue.h"
#include "measure/local_executor.h"
#include "solver/registry.h"
#include "store/journal.h"
#include "testing/fleet/fake_job_queue.h"
#include "testing/tuner_doubles.h"
#include "tuner/tuner.h"

namespace attune {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr const char* kProblem = "gemm_a16w16 m=16 n=32 k=16 dtype=fp32";
constexpr const char* kOther = "gemm_a16w16 m=8 n=32 k=16 dtype=fp32";
constexpr const char* kSolver = "fake.gemm";

/// Renews leases as an agent does.
class TickingObserver final : public TuneObserver {
 public:
  explicit TickingObserver(FleetWork& work) : work_(work) {}
  void progress(const Problem&, Phase, size_t) override {}
  void finished(const TuneResult&) override {}
  void tick() override {
    work_.tick();
    if (on_tick) on_tick();
  }
  std::function<void()> on_tick;

 private:
  FleetWork& work_;
};

class FleetWorkTest : public testing::Test {
 protected:
  FleetWorkTest() { options_.strategy.max_trials = 12; }

  FleetWorkOptions work_options() {
    return {.filter = {.session = 1, .steps = {FleetStep::perf_eval, FleetStep::find_eval}, .agent = "test"},
            .device = device_.info(),
            .solvers = solvers_,
            .kernels_of = kernels_of_,
            .has_ended = [](const std::string& agent) { return agent == "killed"; },
            .steps_before = {FleetStep::perf_compile},
            .max_wait_s = max_wait_s_,
            .on_job = [this](const EndedJob& job) { ended_.push_back(job); },
            .say = [this](const std::string& line) { said_ += line + "\n"; }};
  }
  /// Runs an agent until nothing is left; returns why the tuner ended.
  std::string run(const std::function<void()>& on_tick = {}) {
    FleetWork work(queue_, work_options(), clock_);
    TickingObserver observer(work);
    observer.on_tick = on_tick;
    LocalExecutor executor(device_, registry());
    const std::string why = Tuner(executor, *journal_, options_, clock_).run(work, observer, interrupted_);
    counts_ = work.counts();
    left_ = work.left();
    return why;
  }
  size_t num_verified() const {
    size_t count = 0;
    journal_->scan({}, [&](const Entry& entry, const Stamp&) {
      const auto* record = std::get_if<Record>(&entry);
      count += record != nullptr && record->stage == Stage::verify;
    });
    return count;
  }
  static WorkSource::Task taken(FleetWork& work) {
    auto task = work.take();
    EXPECT_TRUE(task);
    return *task;
  }

  FakeDevice device_;
  std::unique_ptr<Journal> journal_ = open_memory_journal();
  TunerOptions options_;
  TestClock clock_;
  FakeJobQueue queue_;
  std::atomic<bool> interrupted_ = false;
  double max_wait_s_ = 0;
  decltype(FleetWorkOptions::solvers) solvers_;
  decltype(FleetWorkOptions::kernels_of) kernels_of_;
  std::vector<EndedJob> ended_;
  std::string said_, left_;
  FleetCounts counts_;
};

TEST_F(FleetWorkTest, SearchesLeaveShortListsAndTheContestDecidesBetweenThem) {
  queue_.add(FleetStep::perf_eval, kProblem, kSolver);
  queue_.add(FleetStep::perf_contest, kProblem, "");
  EXPECT_EQ(run(), "");
  const JobOutcome& searched = queue_.at(1).outcome;
  ASSERT_FALSE(searched.short_list.empty());
  EXPECT_LE(searched.short_list.size(), 3u);
  EXPECT_FALSE(searched.decision);
  for (const ShortListRow& row : searched.short_list) EXPECT_EQ(row.solver, kSolver);
  const JobOutcome& decided = queue_.at(2).outcome;
  ASSERT_TRUE(decided.decision);
  EXPECT_FALSE(decided.decision->incomplete);
  ASSERT_THAT(decided.finalists, SizeIs(1)) << "the best candidate of each solver";
  EXPECT_GT(decided.finalists.front().us, 0);
  std::set<std::string> allowed = {decided.decision->baseline.name()};
  for (const ShortListRow& row : searched.short_list) allowed.insert(row.candidate.name());
  for (const Finalist& one : decided.decision->finalists) EXPECT_TRUE(allowed.contains(one.candidate.name()));
  EXPECT_EQ(counts_.num_done, 2u);
  EXPECT_EQ(left_, "");
  EXPECT_THAT(ended_, SizeIs(2));
}

TEST_F(FleetWorkTest, TheFindStepComparesDefaultConfigsWithoutASearch) {
  queue_.add(FleetStep::find_eval, kProblem, "");
  run();
  ASSERT_TRUE(queue_.at(1).outcome.decision);
  std::set<std::string> tried;
  journal_->scan({}, [&](const Entry& entry, const Stamp&) {
    if (const auto* record = std::get_if<Record>(&entry)) tried.insert(record->candidate.name());
  });
  EXPECT_THAT(tried, SizeIs(1)) << "the fake device has one solver";
}

TEST_F(FleetWorkTest, ASolverThatDoesNotApplyEndsUnsupportedAndTheContestIsHeldWithoutIt) {
  queue_.add(FleetStep::perf_eval, kProblem, "onednn.gemm");
  queue_.add(FleetStep::perf_contest, kProblem, "");
  run();
  EXPECT_EQ(queue_.at(1).outcome.status, Status::unsupported);
  EXPECT_THAT(queue_.at(1).outcome.detail, HasSubstr("onednn.gemm"));
  EXPECT_TRUE(queue_.at(2).outcome.decision);
  EXPECT_EQ(counts_.num_unsupported, 1u);
}

TEST_F(FleetWorkTest, ALineThatIsNoProblemEndsItsJobAlone) {
  queue_.add(FleetStep::perf_eval, "gemm_a16w16 m=nothing", kSolver);
  queue_.add(FleetStep::perf_eval, kProblem, kSolver);
  run();
  EXPECT_EQ(queue_.at(1).outcome.status, Status::unsupported);
  EXPECT_FALSE(queue_.at(1).outcome.detail.empty());
  EXPECT_EQ(queue_.at(2).state, JobState::done);
}

TEST_F(FleetWorkTest, ARunThatWasKilledBeforeItsCommitTakesItsResultsFromTheJournal) {
  for (const FleetStep step : {FleetStep::perf_eval, FleetStep::perf_contest}) {
    const int64_t job = queue_.add(step, kProblem, step == FleetStep::perf_eval ? kSolver : "");
    run();
    const size_t verified = num_verified();
    const auto decision = queue_.at(job).outcome.decision;
    queue_.at(job).state = JobState::queued;
    run();
    EXPECT_EQ(queue_.at(job).state, JobState::done);
    EXPECT_EQ(num_verified(), verified);
    EXPECT_EQ(queue_.at(job).outcome.decision, decision);
  }
}

TEST_F(FleetWorkTest, LeasesAreRenewedEveryTwentySeconds) {
  queue_.add(FleetStep::perf_eval, kProblem, kSolver);
  SetClock clock;
  FleetWork work(queue_, work_options(), clock);
  taken(work);
  clock.at_s += 19;
  work.tick();
  EXPECT_EQ(queue_.num_renewals, 0u);
  clock.at_s += 1;
  work.tick();
  work.tick();
  EXPECT_EQ(queue_.num_renewals, 1u);
}

TEST_F(FleetWorkTest, ALostLeaseEndsThatProblemAloneAndItsResultIsDropped) {
  queue_.add(FleetStep::perf_eval, kProblem, kSolver);
  queue_.add(FleetStep::perf_eval, kOther, kSolver);
  SetClock clock;
  FleetWork work(queue_, work_options(), clock);
  const auto first = taken(work), second = taken(work);
  queue_.lose(1);
  clock.at_s += 20;
  work.tick();
  EXPECT_TRUE(work.is_lost(first.id));
  EXPECT_FALSE(work.is_lost(second.id));
  work.done(first.id, {.problem = first.item.problem, .ending = Ending::cut});
  EXPECT_EQ(work.counts().num_lost, 1u);
  EXPECT_EQ(queue_.num_commits, 0u);
  EXPECT_THAT(said_, HasSubstr("the lease of job 1 has ended"));
}

TEST_F(FleetWorkTest, ADatabaseThatIsAwayIsAskedAgainUntilTheLeasesHaveEnded) {
  queue_.add(FleetStep::perf_eval, kProblem, kSolver);
  SetClock clock;
  FleetWork work(queue_, work_options(), clock);
  const auto task = taken(work);
  queue_.is_away = true;
  clock.at_s += 59;
  work.tick();
  EXPECT_FALSE(work.is_lost(task.id));
  clock.at_s += 1;
  work.tick();
  EXPECT_TRUE(work.is_lost(task.id));
}

TEST_F(FleetWorkTest, AStoreThatIsAwayIsWaitedForAndCostsNoJobAndNoResult) {
  queue_.add(FleetStep::perf_eval, kProblem, kSolver);
  SetClock clock;
  PatientQueue patient(queue_, 600, {}, clock);
  auto options = work_options();
  options.waits_for_store = [&] { return patient.is_waiting(); };
  FleetWork work(patient, options, clock);
  const auto task = taken(work);
  queue_.has_left = true;
  clock.at_s += 100;
  work.tick();
  EXPECT_FALSE(work.is_lost(task.id)) << "no other agent can have claimed it";
  EXPECT_FALSE(work.take());
  work.done(task.id, {.problem = task.item.problem, .ending = Ending::refused, .reason = "r"});
  EXPECT_THAT(ended_, SizeIs(1));
  EXPECT_GE(work.remaining().num_waiting, 1u);
  queue_.has_left = false;
  patient.tick();
  EXPECT_EQ(queue_.num_commits, 1u);
  clock.at_s += 5;
  EXPECT_EQ(work.remaining().num_waiting, 0u);
}

TEST_F(FleetWorkTest, AStoreThatIsGivenUpEndsTheRun) {
  queue_.add(FleetStep::perf_eval, kProblem, kSolver);
  queue_.add(FleetStep::perf_contest, kOther, "");
  SetClock clock;
  PatientQueue patient(queue_, 600, {}, clock);
  auto options = work_options();
  options.waits_for_store = [&] { return patient.is_waiting(); };
  FleetWork work(patient, options, clock);
  const auto task = taken(work);
  EXPECT_EQ(work.remaining().num_waiting, 1u);  // The contest.
  queue_.has_left = true;
  work.done(task.id, {.problem = task.item.problem, .ending = Ending::refused, .reason = "r"});
  EXPECT_FALSE(work.take());
  EXPECT_GE(work.remaining().num_waiting, 1u);
  clock.at_s += 601;
  EXPECT_FALSE(work.take());
  EXPECT_EQ(work.remaining().num_waiting, 0u);
}

TEST_F(FleetWorkTest, JobsWhoseCommitOrShortListFailsAreGivenBack) {
  queue_.add(FleetStep::perf_eval, kProblem, kSolver);
  FleetWork work(queue_, work_options(), clock_);
  const auto task = taken(work);
  queue_.is_away = true;
  EXPECT_THROW(work.done(task.id, {.problem = task.item.problem, .ending = Ending::refused, .reason = "r"}), Error);
  work.release_all();
  EXPECT_EQ(queue_.at(1).state, JobState::queued);
  queue_.at(1).state = JobState::done;
  queue_.add(FleetStep::perf_contest, kProblem, "");
  EXPECT_THROW(work.take(), Error);
  work.release_all();
  EXPECT_EQ(queue_.at(2).state, JobState::queued);
}

TEST_F(FleetWorkTest, AnUnreadableKernelCacheCostsNoDecision) {
  queue_.add(FleetStep::find_eval, kProblem, "");
  kernels_of_ = [](const Problem&, const std::vector<ShortListRow>&) -> std::vector<FleetKernel> {
    fail(ErrorCode::io, "it cannot be read");
  };
  run();
  EXPECT_TRUE(queue_.at(1).outcome.decision);
  EXPECT_THAT(queue_.at(1).outcome.kernels, SizeIs(0));
  EXPECT_THAT(said_, HasSubstr("it cannot be read"));
}

TEST_F(FleetWorkTest, ContestsAndFindStepsHaveTheSolversOfTheSession) {
  solvers_ = {{"gemm_a16w16", {kSolver, "onednn.gemm"}}, {"conv", {"fake.conv"}}};
  FleetWork work(queue_, work_options(), clock_);
  queue_.add(FleetStep::find_eval, kProblem, "");
  EXPECT_THAT(taken(work).item.solvers, testing::ElementsAre(kSolver, "onednn.gemm"));
  queue_.add(FleetStep::perf_contest, kOther, "");
  EXPECT_THAT(taken(work).item.solvers, testing::ElementsAre(kSolver, "onednn.gemm"));
  queue_.add(FleetStep::perf_eval, kProblem, kSolver);
  EXPECT_THAT(taken(work).item.solvers, testing::ElementsAre(kSolver));
}

TEST_F(FleetWorkTest, AnInterruptGivesAllJobsBack) {
  queue_.add(FleetStep::perf_eval, kProblem, kSolver);
  queue_.add(FleetStep::perf_eval, kOther, kSolver);
  EXPECT_EQ(run([this] { interrupted_ = true; }), "interrupted before a decision");
  for (const auto& one : queue_.jobs) EXPECT_EQ(one.state, JobState::queued);
  EXPECT_EQ(queue_.num_commits, 0u);
}

TEST_F(FleetWorkTest, AJobThatWasCutShortIsNotTakenTwiceInOneRun) {
  queue_.add(FleetStep::perf_eval, kProblem, kSolver);
  options_.problem_timeout_s = 1e-6;
  run();
  EXPECT_EQ(counts_.num_given_back, 1u);
  EXPECT_EQ(queue_.at(1).state, JobState::queued);
}

TEST_F(FleetWorkTest, ThreeFailuresOfTheMachineEndTheDevice) {
  queue_.add(FleetStep::perf_eval, kProblem, kSolver);
  queue_.add(FleetStep::perf_eval, kOther, kSolver);
  FleetWork work(queue_, work_options(), clock_);
  const auto end_next = [&](Status status) {
    const auto task = taken(work);
    TuneResult result{.problem = task.item.problem, .ending = Ending::unsupported, .reason = "r"};
    result.failures = {{{}, {.status = status}}};
    work.done(task.id, result);
  };
  end_next(Status::device_lost);
  end_next(Status::device_lost);
  try {
    end_next(Status::device_lost);
    FAIL() << "the device goes on";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::device);
    EXPECT_THAT(error.what(), HasSubstr("no candidate is to blame: r"));
  }
  EXPECT_EQ(queue_.num_commits, 2u);
  work.release_all();
  EXPECT_EQ(queue_.at(1).state, JobState::queued);
  EXPECT_EQ(queue_.at(2).state, JobState::queued);
}

TEST_F(FleetWorkTest, ASearchThatWantsKernelsIsDeferredAndEndsWithWhatIsMeasured) {
  const int64_t compile = queue_.add(FleetStep::perf_compile, kProblem, kSolver);
  queue_.at(compile).state = JobState::done;
  const int64_t search = queue_.add(FleetStep::perf_eval, kProblem, kSolver, compile);
  queue_.num_rounds = 1;
  FleetWork work(queue_, work_options(), clock_);
  const auto end_next = [&] {
    const auto task = taken(work);
    TuneResult result{.problem = task.item.problem, .ending = Ending::shortlisted};
    result.short_list = {{Candidate::parse("fake.gemm@1:tile=1"), 5, 0}};
    result.unbuilt = {{task.item.problem, Candidate::parse("fake.gemm@1:tile=2")}};
    work.done(task.id, result);
  };
  end_next();
  EXPECT_EQ(queue_.at(compile).state, JobState::queued);
  ASSERT_THAT(queue_.wanted_kernels.at(compile), SizeIs(1));
  EXPECT_EQ(queue_.wanted_kernels.at(compile)[0].candidate.name(), "fake.gemm@1:tile=2");
  EXPECT_THAT(queue_.at(search).outcome.short_list, SizeIs(1));
  EXPECT_EQ(queue_.num_commits, 0u);
  EXPECT_FALSE(work.take()) << "its compile job is open";
  clock_.sleep_s(5);
  queue_.at(compile).state = JobState::done;
  end_next();
  EXPECT_EQ(queue_.at(search).state, JobState::done);
  EXPECT_EQ(work.counts().num_deferred, 1u);
  EXPECT_EQ(work.counts().num_done, 1u);
}

TEST_F(FleetWorkTest, AContestWithoutTheKernelOfACandidateIsNotDecided) {
  const int64_t compile = queue_.add(FleetStep::perf_compile, kProblem, kSolver);
  queue_.at(compile).state = JobState::done;
  const int64_t contest = queue_.add(FleetStep::perf_contest, kProblem, "", compile);
  queue_.num_rounds = 1;
  FleetWork work(queue_, work_options(), clock_);
  const auto end_next = [&] {
    const auto task = taken(work);
    TuneResult result{.problem = task.item.problem, .ending = Ending::cut, .reason = "r", .lacks_kernels = true};
    result.unbuilt = {{task.item.problem, Candidate::parse("fake.gemm@1:tile=2")}};
    work.done(task.id, result);
  };
  end_next();
  EXPECT_EQ(queue_.at(contest).state, JobState::queued);
  EXPECT_EQ(queue_.wanted_kernels.at(compile).at(0).solver, "fake.gemm");
  queue_.at(compile).state = JobState::done;
  end_next();
  EXPECT_EQ(queue_.at(contest).outcome.status, Status::compile_failed);
}

TEST_F(FleetWorkTest, ALostDeviceIsNamedAndFailuresOfOthersDoNotCount) {
  for (int i = 1; i <= 5; ++i)
    queue_.add(FleetStep::perf_eval, fmt::format("gemm_a16w16 m={} n=32 k=16 dtype=fp32", i), kSolver);
  FleetWork work(queue_, work_options(), clock_);
  const auto lose_next = [&](const std::string& device) {
    const auto task = taken(work);
    TuneResult result{.problem = task.item.problem, .device = device, .ending = Ending::unsupported, .reason = "r"};
    result.failures = {{{}, {.status = Status::device_lost}}};
    work.done(task.id, result);
  };
  for (const char* device : {"fake:0", "fake:1", "fake:1", "fake:0"}) lose_next(device);
  try {
    lose_next("fake:1");
    FAIL() << "the device goes on";
  } catch (const DeviceLost& error) {
    EXPECT_STREQ(error.what(), "3 jobs in a row failed on fake:1, and no candidate is to blame: r");
  }
}

TEST_F(FleetWorkTest, FailuresOfTheMachineBetweenOthersDoNotEndTheDevice) {
  queue_.add(FleetStep::perf_eval, kProblem, kSolver);
  queue_.add(FleetStep::perf_eval, kOther, kSolver);
  FleetWork work(queue_, work_options(), clock_);
  const auto fail_next = [&](Status status) {
    const auto task = taken(work);
    TuneResult result{.problem = task.item.problem, .ending = Ending::unsupported, .reason = "r"};
    result.failures = {{{}, {.status = status}}};
    work.done(task.id, result);
  };
  fail_next(Status::device_lost);
  fail_next(Status::device_lost);
  fail_next(Status::wrong_result);
  EXPECT_EQ(queue_.at(1).state, JobState::failed);
  fail_next(Status::device_lost);
  EXPECT_EQ(queue_.num_commits, 4u);
}

TEST_F(FleetWorkTest, WaitsForJobsOfOtherAgentsAndSaysSoOnce) {
  queue_.add(FleetStep::perf_eval, kProblem, kSolver);
  queue_.add(FleetStep::perf_contest, kProblem, "");
  const auto other = queue_.claim({.session = 1, .steps = {FleetStep::perf_eval}, .agent = "other"}, 1).front();
  size_t num_ticks = 0;
  run([&] {
    if (++num_ticks == 50) queue_.commit(other, {.status = Status::wrong_result, .detail = "wrong"});
  });
  EXPECT_TRUE(queue_.at(2).outcome.decision);
  EXPECT_EQ(said_, "waiting for 1 job that another agent holds\n");
}

TEST_F(FleetWorkTest, JobsOfAnAgentThatWasKilledAreTakenAtOnce) {
  queue_.add(FleetStep::perf_eval, kProblem, kSolver);
  queue_.claim({.session = 1, .steps = {FleetStep::perf_eval}, .agent = "killed"}, 1);
  run();
  EXPECT_EQ(queue_.at(1).state, JobState::done);
  EXPECT_EQ(said_, "");
}

TEST_F(FleetWorkTest, DoesNotWaitForJobsThatOnlyAnotherStepCanFree) {
  const int64_t compile = queue_.add(FleetStep::perf_compile, kProblem, kSolver);
  queue_.add(FleetStep::perf_eval, kProblem, kSolver, compile);
  EXPECT_EQ(run(), "");
  EXPECT_EQ(counts_.num_done, 0u);
  EXPECT_EQ(left_, "1 job waits for another step");
}

TEST_F(FleetWorkTest, WaitsForAStepBeforeWhileAnotherAgentWorksOnIt) {
  const int64_t compile = queue_.add(FleetStep::perf_compile, kProblem, kSolver);
  queue_.add(FleetStep::perf_eval, kProblem, kSolver, compile);
  const auto other = queue_.claim({.session = 1, .steps = {FleetStep::perf_compile}, .agent = "other"}, 1).front();
  max_wait_s_ = 0.1;
  size_t num_ticks = 0;
  run([&] {
    if (++num_ticks == 50) queue_.commit(other, {});
  });
  EXPECT_EQ(queue_.at(2).state, JobState::done);
  EXPECT_EQ(said_, "1 job waits for 1 job of a step before\n");
}

TEST_F(FleetWorkTest, WaitsForAStepBeforeThatNoAgentWorksOnForALimitedTime) {
  const int64_t compile = queue_.add(FleetStep::perf_compile, kProblem, kSolver);
  queue_.add(FleetStep::perf_eval, kProblem, kSolver, compile);
  max_wait_s_ = 30;
  const double began_s = clock_.now_s();
  EXPECT_EQ(run(), "");
  EXPECT_EQ(counts_.num_done, 0u);
  EXPECT_GE(clock_.now_s() - began_s, 30);
  EXPECT_LT(clock_.now_s() - began_s, 60);
}

TEST_F(FleetWorkTest, OneThatLosesItsDeviceLeavesTheJobToTheOtherDevices) {
  queue_.add(FleetStep::perf_eval, kProblem, kSolver);
  FleetWork work(queue_, work_options(), clock_);
  const auto task = taken(work);
  work.give_back(task.id);
  EXPECT_EQ(work.remaining().num_waiting, 1u);
  EXPECT_EQ(taken(work).item.problem, task.item.problem);
}

}  // namespace
}  // namespace attune
