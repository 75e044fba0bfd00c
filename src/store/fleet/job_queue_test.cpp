// SPDX-License-Identifier: MIT
#include "store/fleet/job_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <set>
#include <thread>

#include "testing/fleet/fleet_store_fixture.h"

namespace attune {
namespace {

using ::testing::HasSubstr;

class JobQueueTest : public FleetStoreFixture {};
INSTANTIATE_TEST_SUITE_P(Databases, JobQueueTest, ::testing::ValuesIn(tested_databases()),
                         [](const auto& one) { return one.param; });

TEST_P(JobQueueTest, AContestWaitsForTheOtherJobsOfItsConfiguration) {
  const auto store = open();
  const auto session = begin(*store, 1);
  store->load_jobs(load_of(session));
  JobQueue& queue = store->queue();
  const auto evals = filter(session, {FleetStep::perf_eval});
  EXPECT_TRUE(queue.claim(evals, 10).empty());
  EXPECT_EQ(queue.counts(evals).blocked, 3u);
  EXPECT_EQ(work(queue, session, {FleetStep::perf_compile}), 2u);
  const auto jobs = queue.claim(evals, 10);
  ASSERT_EQ(jobs.size(), 2u);  // Without the contest.
  EXPECT_TRUE(queue.commit(jobs[0], job_outcome_of(jobs[0])));
  EXPECT_TRUE(queue.claim(evals, 10).empty());
  EXPECT_TRUE(queue.commit(jobs[1], job_outcome_of(jobs[1])));
  const auto contest = queue.claim(evals, 10);
  ASSERT_EQ(contest.size(), 1u);
  EXPECT_EQ(contest[0].step, FleetStep::perf_contest);
  EXPECT_EQ(contest[0].problem, convolution(1).key());
  const auto lists = queue.short_lists(session, contest[0].configuration);
  ASSERT_EQ(lists.size(), 4u);
  EXPECT_EQ(lists[0].us, 5);
  EXPECT_EQ(lists[0].workspace_bytes, 64u);
  EXPECT_TRUE(queue.commit(contest[0], job_outcome_of(contest[0])));
  size_t num_answers = 0;
  store->visit_answers(session, "t", [&](const FleetAnswer& answer) {
    ++num_answers;
    EXPECT_EQ(answer.missing, "");
    ASSERT_TRUE(answer.decision);
    ASSERT_EQ(answer.finalists.size(), 2u);
    EXPECT_EQ(answer.finalists[0].solver, "a.conv");
    ASSERT_EQ(answer.kernels.size(), 1u);
    EXPECT_EQ(answer.kernels[0].bytes, std::string("\0\x7f"
                                                   "ELF",
                                                   5));
  });
  EXPECT_EQ(num_answers, 1u);
}

TEST_P(JobQueueTest, ConfigurationsAreDecidedEarly) {
  const auto store = open();
  const auto session = begin(*store, 2);
  store->load_jobs(load_of(session));
  JobQueue& queue = store->queue();
  work(queue, session, {FleetStep::perf_compile});
  const auto evals = filter(session, {FleetStep::perf_eval});
  for (const ClaimedJob& job : queue.claim(evals, 2)) queue.commit(job, job_outcome_of(job));
  const auto next = queue.claim(evals, 1);
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].step, FleetStep::perf_contest);
}

TEST_P(JobQueueTest, ThreadsAndConnectionsNeverShareAJob) {
  constexpr int kConfigurations = 40, kThreads = 4;
  const auto session = begin(*open(), kConfigurations);
  open()->load_jobs(load_of(session));
  std::mutex mutex;
  std::vector<int64_t> claimed;
  const auto shared = open();
  shared->queue();
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      const auto own = i % 2 == 0 ? open() : nullptr;
      JobQueue& queue = own ? own->queue() : shared->queue();
      for (;;) {
        const auto jobs = queue.claim(filter(session, {FleetStep::perf_compile}, "t" + std::to_string(i)), 3);
        if (jobs.empty()) return;
        for (const ClaimedJob& job : jobs) EXPECT_TRUE(queue.commit(job, {}));
        const std::lock_guard lock(mutex);
        for (const ClaimedJob& job : jobs) claimed.push_back(job.id);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(claimed.size(), 2u * kConfigurations);
  EXPECT_EQ(std::set<int64_t>(claimed.begin(), claimed.end()).size(), claimed.size());
}

TEST_P(JobQueueTest, AnExpiredLeaseIsGivenToAnotherAndItsLateResultIsDiscarded) {
  const auto store = open();
  const auto session = begin(*store, 1);
  store->load_jobs(load_of(session));
  JobQueue& queue = store->queue();
  const auto late = queue.claim(filter(session, {FleetStep::perf_compile}, "slow"), 2);
  ASSERT_EQ(late.size(), 2u);
  EXPECT_TRUE(queue.claim(filter(session, {FleetStep::perf_compile}), 1).empty());
  run("UPDATE job SET lease_until = 1");
  EXPECT_TRUE(queue.renew({late[0]}).empty());  // It was not claimed again.
  const auto again = queue.claim(filter(session, {FleetStep::perf_compile}, "fast"), 2);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].id, late[1].id);
  EXPECT_GT(again[0].token, late[1].token);
  EXPECT_EQ(again[0].attempt, 1);  // A lost lease is no attempt.
  EXPECT_FALSE(queue.commit(late[1], job_outcome_of(late[1])));
  EXPECT_EQ(number("SELECT count(*) FROM event WHERE kind = 'late_result' AND agent = 'slow'"), 1);
  EXPECT_EQ(queue.renew(late), std::vector<int64_t>{late[1].id});
  EXPECT_TRUE(queue.commit(again[0], job_outcome_of(again[0])));
  EXPECT_TRUE(queue.commit(again[0], job_outcome_of(again[0])));  // As after a commit whose answer was lost.
  EXPECT_EQ(store->rate(session).num_discarded, 1u);
}

TEST_P(JobQueueTest, JobsOfAnAgentThatHasEndedNeedNotWaitForTheirLeases) {
  const auto store = open();
  const auto session = begin(*store, 1);
  store->load_jobs(load_of(session));
  JobQueue& queue = store->queue();
  const auto of_killed = queue.claim(filter(session, {FleetStep::perf_compile}, "killed"), 1);
  const auto of_other = queue.claim(filter(session, {FleetStep::perf_compile}, "other"), 1);
  ASSERT_EQ(of_killed.size() + of_other.size(), 2u);
  EXPECT_EQ(queue.end_leases(session, [](const std::string& agent) { return agent == "killed"; }), 1u);
  EXPECT_FALSE(queue.commit(of_killed[0], job_outcome_of(of_killed[0])));
  EXPECT_TRUE(queue.commit(of_other[0], job_outcome_of(of_other[0])));
  const auto again = queue.claim(filter(session, {FleetStep::perf_compile}), 1);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].id, of_killed[0].id);
  EXPECT_EQ(again[0].attempt, 1);
}

TEST_P(JobQueueTest, ReleasedJobsAndThoseOfALostDeviceHaveNoAttempt) {
  const auto store = open();
  const auto session = begin(*store, 1);
  store->load_jobs(load_of(session));
  JobQueue& queue = store->queue();
  const auto compile = filter(session, {FleetStep::perf_compile});
  queue.release(queue.claim(compile, 2));
  for (int i = 0; i < 5; ++i) {
    const auto jobs = queue.claim(compile, 1);
    ASSERT_EQ(jobs.size(), 1u);
    EXPECT_EQ(jobs[0].attempt, 1);
    EXPECT_TRUE(queue.commit(jobs[0], {.status = Status::device_lost, .detail = "gone"}));
  }
}

TEST_P(JobQueueTest, AfterThreeFailedAttemptsAJobIsExcludedUntilItIsReset) {
  const auto store = open();
  const auto session = begin(*store, 1);
  auto load = load_of(session);
  load.solvers = {"a.conv"};
  store->load_jobs(load);
  JobQueue& queue = store->queue();
  const auto compile = filter(session, {FleetStep::perf_compile});
  for (int i = 1; i <= kMaxAttempts; ++i) {
    const auto jobs = queue.claim(compile, 1);
    ASSERT_EQ(jobs.size(), 1u);
    EXPECT_EQ(jobs[0].attempt, i);
    EXPECT_TRUE(queue.commit(jobs[0], {.status = Status::crashed, .detail = "signal 11"}));
    run("UPDATE job SET not_before = 0 WHERE id = " + std::to_string(jobs[0].id));  // After 30 s.
  }
  EXPECT_EQ(queue.counts(compile).excluded, 1u);
  const auto groups = store->job_groups(session);
  EXPECT_TRUE(std::ranges::any_of(groups, [](const JobGroup& group) {
    return group.state == JobState::excluded && group.failure == "crashed" && group.count == 1;
  }));
  EXPECT_EQ(store->reset_jobs(session, "timed_out"), 0u);
  EXPECT_EQ(store->reset_jobs(session, "crashed"), 1u);
  EXPECT_EQ(queue.counts(compile).queued, 1u);
}

TEST_P(JobQueueTest, ARetryWaits) {
  const auto store = open();
  const auto session = begin(*store, 1);
  auto load = load_of(session);
  load.solvers = {"a.conv"};
  store->load_jobs(load);
  JobQueue& queue = store->queue();
  const auto compile = filter(session, {FleetStep::perf_compile});
  const auto jobs = queue.claim(compile, 1);
  queue.commit(jobs.at(0), {.status = Status::timed_out, .detail = "60 s"});
  EXPECT_TRUE(queue.claim(compile, 1).empty());
  EXPECT_EQ(queue.counts(compile).queued, 1u);
  EXPECT_EQ(queue.counts(compile).blocked, 0u);
}

TEST_P(JobQueueTest, AnInapplicableSolverIsExcludedAtOnceAndBlocksNothing) {
  const auto store = open();
  const auto session = begin(*store, 1);
  store->load_jobs(load_of(session));
  JobQueue& queue = store->queue();
  for (const FleetStep step : {FleetStep::perf_compile, FleetStep::perf_eval}) {
    for (const ClaimedJob& job : queue.claim(filter(session, {step}), 2))
      queue.commit(job, job.solver == "a.conv" ? job_outcome_of(job) : JobOutcome{.status = Status::unsupported});
  }
  EXPECT_EQ(work(queue, session, {FleetStep::perf_eval}), 1u);
  EXPECT_EQ(queue.counts(filter(session, {FleetStep::perf_compile, FleetStep::perf_eval})).excluded, 2u);
}

std::vector<WantedCandidate> wanted_of(const std::vector<int>& numbers) {
  std::vector<WantedCandidate> all;
  for (const int one : numbers)
    all.push_back({"a.conv", convolution(1).key(), Candidate::parse("a.conv@1:x=" + std::to_string(one))});
  return all;
}

TEST_P(JobQueueTest, ASearchThatWantsKernelsWaitsForItsCompileJob) {
  const auto store = open();
  const auto session = begin(*store, 1);
  store->load_jobs(load_of(session));
  JobQueue& queue = store->queue();
  work(queue, session, {FleetStep::perf_compile});
  const auto evals = filter(session, {FleetStep::perf_eval}), compiles = filter(session, {FleetStep::perf_compile});
  const auto jobs = queue.claim(evals, 2);
  ASSERT_EQ(jobs.size(), 2u);
  const ClaimedJob& job = jobs[0].solver == "a.conv" ? jobs[0] : jobs[1];
  EXPECT_EQ(queue.defer(job, wanted_of({1, 2}), job_outcome_of(job).short_list), Deferral::deferred);
  EXPECT_TRUE(queue.renew({job}).size() == 1) << "the lease has ended";
  EXPECT_EQ(queue.short_lists(session, job.configuration).size(), 2u) << "what was measured stays";
  EXPECT_TRUE(queue.commit(&job == &jobs[0] ? jobs[1] : jobs[0], {}));
  EXPECT_TRUE(queue.claim(evals, 2).empty()) << "the contest waits, too";
  const auto again = queue.claim(compiles, 2);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].attempt, 1);
  const auto wanted = queue.wanted(again);
  ASSERT_EQ(wanted.at(again[0].id).size(), 2u);
  EXPECT_EQ(wanted.at(again[0].id)[0].solver, "a.conv");
  EXPECT_EQ(wanted.at(again[0].id)[0].problem, convolution(1).key());
  EXPECT_TRUE(queue.commit(again[0], {}));
  const auto next = queue.claim(evals, 2);
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].id, job.id);
  EXPECT_EQ(next[0].attempt, 1) << "a deferral is no attempt";
}

TEST_P(JobQueueTest, ASearchIsDeferredForNewKernelsOnlyAndAFewTimes) {
  const auto store = open();
  const auto session = begin(*store, 1);
  store->load_jobs(load_of(session));
  JobQueue& queue = store->queue();
  const auto next_eval = [&] {
    work(queue, session, {FleetStep::perf_compile});
    auto jobs = queue.claim(filter(session, {FleetStep::perf_eval}), 2);
    std::erase_if(jobs, [](const ClaimedJob& one) { return one.solver != "a.conv"; });
    EXPECT_EQ(jobs.size(), 1u);
    return jobs.at(0);
  };
  EXPECT_EQ(queue.defer(next_eval(), wanted_of({1, 2}), {}), Deferral::deferred);
  const ClaimedJob held = next_eval();
  EXPECT_EQ(queue.defer(held, wanted_of({2, 1}), {}), Deferral::pointless) << "they do not compile";
  EXPECT_EQ(queue.renew({held}).size(), 0u) << "the agent has the job";
  EXPECT_EQ(queue.defer(held, wanted_of({2, 3}), {}), Deferral::deferred);
  const auto compiles = queue.claim(filter(session, {FleetStep::perf_compile}), 2);
  ASSERT_EQ(compiles.size(), 1u);
  const auto wanted = queue.wanted(compiles);
  ASSERT_EQ(wanted.at(compiles[0].id).size(), 1u) << "the new one";
  EXPECT_EQ(wanted.at(compiles[0].id)[0].candidate.name(), "a.conv@1:x=3");
  EXPECT_TRUE(queue.commit(compiles[0], {}));
  EXPECT_EQ(queue.defer(next_eval(), wanted_of({4}), {}), Deferral::deferred);
  const ClaimedJob last = next_eval();
  EXPECT_EQ(queue.defer(last, wanted_of({5}), {}), Deferral::pointless) << "after three rounds";
  EXPECT_TRUE(queue.commit(last, job_outcome_of(last)));
  EXPECT_EQ(queue.defer(last, wanted_of({6}), {}), Deferral::lost);
}

TEST_P(JobQueueTest, AResetAndNewJobsLetASearchWantTheSameKernelsAgain) {
  const auto store = open();
  const auto session = begin(*store, 1);
  JobLoad load = load_of(session);
  load.solvers = {"a.conv"};
  store->load_jobs(load);
  JobQueue& queue = store->queue();
  const auto next_eval = [&] {
    work(queue, session, {FleetStep::perf_compile});
    auto jobs = queue.claim(filter(session, {FleetStep::perf_eval}), 2);
    std::erase_if(jobs, [](const ClaimedJob& one) { return one.solver != "a.conv"; });
    EXPECT_EQ(jobs.size(), 1u);
    return jobs.at(0);
  };
  EXPECT_EQ(queue.defer(next_eval(), wanted_of({1}), {}), Deferral::deferred);
  ClaimedJob held = next_eval();
  ASSERT_EQ(queue.defer(held, wanted_of({1}), {}), Deferral::pointless);
  EXPECT_TRUE(queue.commit(held, {.status = Status::wrong_result}));
  EXPECT_EQ(store->reset_jobs(session, "crashed"), 0u);
  EXPECT_EQ(number("SELECT count(*) FROM wanted_kernel"), 1) << "jobs of another failure were reset";
  EXPECT_EQ(store->reset_jobs(session, ""), 1u);
  EXPECT_EQ(queue.defer(next_eval(), wanted_of({1}), {}), Deferral::deferred);
  held = next_eval();
  EXPECT_EQ(store->load_jobs(load), 0u);
  ASSERT_EQ(queue.defer(held, wanted_of({1}), {}), Deferral::pointless) << "nothing new was loaded";
  EXPECT_GT(store->load_jobs(load_of(session)), 0u);
  EXPECT_EQ(queue.defer(held, wanted_of({1}), {}), Deferral::deferred);
}

TEST_P(JobQueueTest, SearchesOfAgentsWithoutACompilerAreKnown) {
  const auto store = open();
  const auto session = begin(*store, 1);
  store->load_jobs(load_of(session));
  JobQueue& queue = store->queue();
  work(queue, session, {FleetStep::perf_compile});
  EXPECT_EQ(queue.bare_searches(session), BareSearches::none) << "there is no such agent";
  store->add_event(session, {.at = {}, .agent = "other", .kind = "lacks_compiler", .text = "compiler.hostcc"});
  EXPECT_EQ(queue.bare_searches(session), BareSearches::waiting);
  const auto jobs = queue.claim(filter(session, {FleetStep::perf_eval}, "me"), 1);
  const auto others = queue.claim(filter(session, {FleetStep::perf_eval}, "other"), 1);
  EXPECT_EQ(queue.bare_searches(session), BareSearches::running);
  EXPECT_EQ(queue.bare_searches(session + 1), BareSearches::none);
  EXPECT_TRUE(queue.commit(others.at(0), job_outcome_of(others[0])));
  EXPECT_EQ(queue.bare_searches(session), BareSearches::none) << "the other job is held by an agent with a compiler";
}

TEST_P(JobQueueTest, AContestThatLacksAKernelWaitsForTheCompileJobOfItsSolver) {
  const auto store = open();
  const auto session = begin(*store, 1);
  store->load_jobs(load_of(session));
  JobQueue& queue = store->queue();
  work(queue, session, {FleetStep::perf_compile});
  const auto evals = filter(session, {FleetStep::perf_eval});
  for (const ClaimedJob& job : queue.claim(evals, 2)) queue.commit(job, job_outcome_of(job));
  const auto contest = queue.claim(evals, 1);
  ASSERT_EQ(contest.at(0).step, FleetStep::perf_contest);
  EXPECT_EQ(queue.defer(contest[0], wanted_of({1}), {}), Deferral::deferred);
  EXPECT_TRUE(queue.claim(evals, 1).empty());
  EXPECT_EQ(work(queue, session, {FleetStep::perf_compile}), 1u);
  EXPECT_EQ(queue.claim(evals, 1).at(0).id, contest[0].id);
}

TEST_P(JobQueueTest, MoreJobsReopenTheContest) {
  const auto store = open();
  const auto session = begin(*store, 1);
  auto load = load_of(session);
  load.solvers = {"a.conv"};
  EXPECT_EQ(store->load_jobs(load), 3u);
  JobQueue& queue = store->queue();
  EXPECT_EQ(work(queue, session, {FleetStep::perf_compile, FleetStep::perf_eval}), 3u);
  load.solvers = {"b.conv"};
  EXPECT_EQ(store->load_jobs(load), 2u);
  EXPECT_EQ(work(queue, session, {FleetStep::perf_compile, FleetStep::perf_eval}), 3u);
}

TEST_P(JobQueueTest, MoreJobsTakeAContestFromItsAgent) {
  const auto store = open();
  const auto session = begin(*store, 1);
  auto load = load_of(session);
  load.solvers = {"a.conv"};
  store->load_jobs(load);
  JobQueue& queue = store->queue();
  const auto steps = {FleetStep::perf_compile, FleetStep::perf_eval};
  for (int i = 0; i < 2; ++i) queue.commit(queue.claim(filter(session, steps), 1).at(0), {});
  const auto held = queue.claim(filter(session, steps), 1);
  ASSERT_EQ(held.at(0).step, FleetStep::perf_contest);
  load.solvers = {"b.conv"};
  EXPECT_EQ(store->load_jobs(load), 2u);
  EXPECT_FALSE(queue.commit(held[0], job_outcome_of(held[0]))) << "it does not know the short list of b.conv";
  EXPECT_EQ(number("SELECT count(*) FROM attempt WHERE class = 'cancelled' AND ended > 0"), 1);
  EXPECT_EQ(number("SELECT count(*) FROM job WHERE step = 'perf_contest' AND agent = '' AND lease_until = 0"), 1);
  EXPECT_EQ(work(queue, session, steps), 3u);
  EXPECT_EQ(number("SELECT count(*) FROM shortlist WHERE solver = 'b.conv'"), 2);
}

TEST_P(JobQueueTest, AnEndedSessionGivesOutNothing) {
  const auto store = open();
  const auto session = begin(*store, 1);
  store->load_jobs(load_of(session));
  JobQueue& queue = store->queue();
  const auto jobs = queue.claim(filter(session, {FleetStep::perf_compile}), 1);
  store->end_session(session, SessionState::aborted);
  EXPECT_EQ(queue.renew(jobs), std::vector<int64_t>{jobs.at(0).id});
  EXPECT_FALSE(queue.commit(jobs[0], {}));
  EXPECT_TRUE(queue.claim(filter(session, {FleetStep::perf_compile}), 1).empty());
  EXPECT_THAT(refusal([&] { store->load_jobs(load_of(session)); }), HasSubstr("aborted"));
  EXPECT_THAT(refusal([&] { store->begin_session(fleet_test_environment(), "why"); }), HasSubstr("give another"));
}

TEST_P(JobQueueTest, AClosedSessionTakesTheResultsOfHeldJobs) {
  const auto store = open();
  const auto session = begin(*store, 2);
  store->load_jobs(load_of(session));
  JobQueue& queue = store->queue();
  const auto compile = filter(session, {FleetStep::perf_compile});
  const auto jobs = queue.claim(compile, 3);
  store->end_session(session, SessionState::closed);
  EXPECT_TRUE(queue.claim(compile, 1).empty());
  EXPECT_TRUE(queue.renew({jobs.at(0)}).empty());
  EXPECT_TRUE(queue.commit(jobs[0], job_outcome_of(jobs[0])));
  queue.release({jobs.at(1)});
  run("UPDATE job SET lease_until = 1 WHERE state = 'leased'");
  EXPECT_TRUE(queue.claim(compile, 1).empty());
  EXPECT_EQ(queue.counts(compile).leased, 0u) << "an expired lease ends in a closed session, too";
  EXPECT_THAT(refusal([&] { store->reset_jobs(session, "crashed"); }), HasSubstr("session 1 is closed"));
}

TEST_P(JobQueueTest, AKilledAgentLosesOnlyWhatItHadNotCommitted) {
  constexpr int kConfigurations = 60;
  const auto session = begin(*open(), kConfigurations);
  open()->load_jobs(load_of(session));
  size_t num_told = 0;
  for (int round = 0; round < 10; ++round) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      const auto store = open();
      for (;;) {
        for (const ClaimedJob& job : store->queue().claim(filter(session, {FleetStep::perf_compile}), 2)) {
          if (store->queue().commit(job, {}) && ::write(pipe[1], "x", 1) != 1) ::_exit(1);
        }
      }
    }
    ::close(pipe[1]);
    char byte = 0;
    for (int i = 0; i <= round; ++i) {
      ASSERT_EQ(::read(pipe[0], &byte, 1), 1);
      ++num_told;
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    while (::read(pipe[0], &byte, 1) == 1) ++num_told;
    ::close(pipe[0]);
  }
  const auto store = open();
  const auto counts = store->queue().counts(filter(session, {FleetStep::perf_compile}));
  EXPECT_GE(counts.done, num_told);
  EXPECT_LE(counts.done, num_told + 10);  // Committed, but not told before the signal.
  EXPECT_EQ(counts.done + counts.queued + counts.leased, 2u * kConfigurations);
  run("UPDATE job SET lease_until = 1 WHERE state = 'leased'");
  work(store->queue(), session, {FleetStep::perf_compile});
  EXPECT_EQ(store->queue().counts(filter(session, {FleetStep::perf_compile})).done, 2u * kConfigurations);
  EXPECT_EQ(number("SELECT count(*) FROM (SELECT job FROM attempt WHERE class = 'ok' GROUP BY job"
                   " HAVING count(*) > 1) twice"),
            0);
}

TEST_P(JobQueueTest, AgentsThatEndTheLastJobsAtOnceFreeTheContest) {
  constexpr int kConfigurations = 30;
  const auto session = begin(*open(), kConfigurations);
  open()->load_jobs(load_of(session));
  work(open()->queue(), session, {FleetStep::perf_compile});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { work(open()->queue(), session, {FleetStep::perf_eval}); });
  for (std::thread& thread : threads) thread.join();
  const auto counts = open()->queue().counts(filter(session, {FleetStep::perf_eval}));
  EXPECT_EQ(counts.done, 3u * kConfigurations);
  EXPECT_EQ(counts.blocked, 0u);
}

TEST_P(JobQueueTest, DetailsThatNoDatabaseStoresAreMadeStorable) {
  const auto store = open();
  const auto session = begin(*store, 1);
  store->load_jobs(load_of(session));
  const auto jobs = store->queue().claim(filter(session, {FleetStep::perf_compile}), 1);
  const std::string detail = std::string("a\0\xff \xe2\x82\xac", 7) + std::string(1 << 20, 'x');
  EXPECT_TRUE(store->queue().commit(jobs.at(0), {.status = Status::compile_failed, .detail = detail}));
  store->visit_jobs({.session = session, .failure = "compile_failed"}, [](const JobRow& row) {
    EXPECT_TRUE(row.detail.starts_with("a?? €x")) << row.detail.substr(0, 20);
    EXPECT_LT(row.detail.size(), 5000u);
  });
}

}  // namespace
}  // namespace attune
