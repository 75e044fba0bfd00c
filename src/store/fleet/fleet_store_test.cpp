// SPDX-License-Identifier: MIT
#include "store/fleet/fleet_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include <soci/soci-config.h>
#undef SOCI_HAVE_BOOST
#include <soci/soci.h>
#include <soci/sqlite3/soci-sqlite3.h>

#include "base/error.h"
#include "base/hash.h"
#include "store/fleet/fleet_schema.h"
#include "store/journal.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

Problem convolution(int number) { return Problem::parse("conv n=" + std::to_string(number) + " c=3"); }

FleetConfiguration configuration(int number, const std::string& tag = "t") {
  const Problem problem = convolution(number);
  return {.id = hash128(problem.key()).hex(),
          .op = "conv",
          .key = problem.key(),
          .source = "benchmark",
          .added_at = "",
          .tags = {tag}};
}

FleetEnvironment environment() {
  return {.fingerprint = "f00", .device_json = "{}", .versions = {{"a.conv", "1"}}, .variables = {"OMP_NUM_THREADS=2"}};
}

class FleetStoreTest : public ::testing::Test {
 protected:
  /// A session with `count` configurations and the solvers a.conv and b.conv.
  int64_t begin(FleetStore& store, int count) {
    std::vector<FleetConfiguration> all;
    for (int i = 1; i <= count; ++i) all.push_back(configuration(i));
    store.add_configurations(all);
    store.set_solvers({{"a.conv", "1", "conv", true, "A"}, {"b.conv", "2", "conv", false, "B"}});
    return store.begin_session(environment(), "why");
  }
  std::unique_ptr<FleetStore> open(FleetStoreUse use = FleetStoreUse::create) {
    return open_fleet_store("sqlite:" + file().string(), use, 10'000);
  }
  static JobLoad load_of(int64_t session,
                         std::vector<FleetStep> steps = {FleetStep::perf_compile, FleetStep::perf_eval}) {
    return {.session = session, .tag = "t", .steps = std::move(steps), .reason = "why"};
  }
  /// Runs a statement behind the store's back.
  void run(const std::string& sql) { soci::session(soci::sqlite3, "db=\"" + file().string() + "\"") << sql; }
  long long number(const std::string& sql) {
    long long found = -1;
    soci::session(soci::sqlite3, "db=\"" + file().string() + "\"") << sql, soci::into(found);
    return found;
  }
  std::filesystem::path file() const { return folder_.path() / "own" / "fleet.db"; }
  template <typename Action>
  static std::string refusal(Action action) {
    try {
      action();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_input) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "nothing was refused";
    return {};
  }

  TestFolder folder_;
};

ClaimFilter filter(int64_t session, std::vector<FleetStep> steps, const std::string& agent = "me") {
  return {.session = session, .steps = std::move(steps), .agent = agent};
}

JobOutcome outcome_of(const ClaimedJob& job) {
  JobOutcome outcome;
  if (job.step == FleetStep::perf_eval)
    outcome.short_list = {{job.solver, {job.solver, "1", {}}, 5, 64}, {job.solver, {job.solver, "1", {}}, 6, 0}};
  if (job.step == FleetStep::perf_contest || job.step == FleetStep::find_eval) {
    Decision decision;
    decision.problem = Problem::parse(job.problem);
    decision.winner = decision.baseline = {"a.conv", "1", {}};
    outcome.decision = decision;
    outcome.finalists = {{"a.conv", {"a.conv", "1", {}}, 5, 64}, {"b.conv", {"b.conv", "2", {}}, 7, 0}};
    outcome.kernels = {{"k", "-O3",
                        std::string("\0\x7f"
                                    "ELF",
                                    5)}};
  }
  return outcome;
}

/// Works until nothing is left; returns how many jobs were stored.
size_t work(JobQueue& queue, int64_t session, std::vector<FleetStep> steps) {
  size_t num_stored = 0;
  for (;;) {
    const auto jobs = queue.claim(filter(session, steps), 3);
    if (jobs.empty()) return num_stored;
    for (const ClaimedJob& job : jobs) num_stored += queue.commit(job, outcome_of(job)) ? 1 : 0;
  }
}

TEST_F(FleetStoreTest, TheFileAndItsFolderArePrivate) {
  begin(*open(), 1);
  struct stat status {};
  ASSERT_EQ(::stat(file().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  ASSERT_EQ(::stat(file().parent_path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
}

TEST_F(FleetStoreTest, SeveralProgramsMayMakeTheStoreAtOnce) {
  std::vector<pid_t> children;
  for (int i = 0; i < 6; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      try {
        open()->add_configurations({configuration(1), configuration(2 + i)});
        ::_exit(0);
      } catch (const Error& error) {
        std::fprintf(stderr, "%s\n", error.what());
        ::_exit(1);
      }
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(number("SELECT count(*) FROM configuration"), 7);
  EXPECT_EQ(number("SELECT count(*) FROM schema_version"), kFleetSchemaVersion);
}

TEST_F(FleetStoreTest, AnOlderStoreIsBroughtToThePresentSchema) {
  begin(*open(), 2);
  for (const char* table : {"golden", "golden_kernel", "foreign_result"}) run(std::string("DROP TABLE ") + table);
  run("DELETE FROM schema_version WHERE number = 2");
  open();
  EXPECT_EQ(number("SELECT count(*) FROM golden") + number("SELECT count(*) FROM foreign_result"), 0);
  EXPECT_EQ(number("SELECT max(number) FROM schema_version"), kFleetSchemaVersion);
  EXPECT_EQ(number("SELECT count(*) FROM configuration"), 2);
}

TEST_F(FleetStoreTest, RepeatedSetUpAddsNothing) {
  const auto store = open();
  const auto session = begin(*store, 3);
  EXPECT_EQ(store->add_configurations({configuration(1), configuration(4)}), 1u);
  EXPECT_EQ(store->set_solvers(store->solvers()), 0u);
  EXPECT_EQ(store->begin_session(environment(), "why"), session);
  EXPECT_NE(store->begin_session(environment(), "another"), session);
  auto other = environment();
  other.versions["a.conv"] = "2";
  EXPECT_NE(store->begin_session(other, "why"), session);
  EXPECT_EQ(store->load_jobs(load_of(session)), 4u * 2 * 2 + 4);  // Two steps, two solvers; a contest each.
  EXPECT_EQ(store->load_jobs(load_of(session)), 0u);
}

TEST_F(FleetStoreTest, WhatWasImportedFirstStays) {
  const auto store = open();
  auto one = configuration(1);
  store->add_configurations({one});
  one.source = "customer";
  one.tags = {"u"};
  one.is_recurrent = true;
  store->add_configurations({one});
  std::vector<FleetConfiguration> seen;
  store->visit_configurations("", [&](const FleetConfiguration& found) { seen.push_back(found); });
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].source, "benchmark");
  EXPECT_THAT(seen[0].tags, UnorderedElementsAre("t", "u"));
  EXPECT_TRUE(seen[0].is_recurrent);
  EXPECT_EQ(store->untag("u", {}), 1u);
  EXPECT_EQ(store->untag("u", {}), 0u);
}

TEST_F(FleetStoreTest, AContestWaitsForTheOtherJobsOfItsConfiguration) {
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
  EXPECT_TRUE(queue.commit(jobs[0], outcome_of(jobs[0])));
  EXPECT_TRUE(queue.claim(evals, 10).empty());
  EXPECT_TRUE(queue.commit(jobs[1], outcome_of(jobs[1])));
  const auto contest = queue.claim(evals, 10);
  ASSERT_EQ(contest.size(), 1u);
  EXPECT_EQ(contest[0].step, FleetStep::perf_contest);
  EXPECT_EQ(contest[0].problem, convolution(1).key());
  const auto lists = queue.short_lists(session, contest[0].configuration);
  ASSERT_EQ(lists.size(), 4u);
  EXPECT_EQ(lists[0].us, 5);
  EXPECT_EQ(lists[0].workspace_bytes, 64u);
  EXPECT_TRUE(queue.commit(contest[0], outcome_of(contest[0])));
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

TEST_F(FleetStoreTest, ConfigurationsAreDecidedEarly) {
  const auto store = open();
  const auto session = begin(*store, 2);
  store->load_jobs(load_of(session));
  JobQueue& queue = store->queue();
  work(queue, session, {FleetStep::perf_compile});
  const auto evals = filter(session, {FleetStep::perf_eval});
  for (const ClaimedJob& job : queue.claim(evals, 2)) queue.commit(job, outcome_of(job));
  const auto next = queue.claim(evals, 1);
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].step, FleetStep::perf_contest);
}

TEST_F(FleetStoreTest, AMissingAnswerHasItsReason) {
  const auto store = open();
  const auto session = begin(*store, 2);
  auto load = load_of(session, {FleetStep::find_compile, FleetStep::find_eval});
  store->load_jobs(load);
  JobQueue& queue = store->queue();
  work(queue, session, {FleetStep::find_compile});
  const auto jobs = queue.claim(filter(session, {FleetStep::find_eval}), 1);
  ASSERT_EQ(jobs.size(), 1u);
  queue.commit(jobs[0], {.status = Status::unsupported, .detail = "no solver supports it"});
  std::vector<std::string> reasons;
  store->visit_answers(session, "t", [&](const FleetAnswer& answer) { reasons.push_back(answer.missing); });
  EXPECT_THAT(reasons,
              UnorderedElementsAre("find_eval: unsupported, no solver supports it", "1 job is not done: find_eval"));
}

TEST_F(FleetStoreTest, ThreadsAndConnectionsNeverShareAJob) {
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

TEST_F(FleetStoreTest, AnExpiredLeaseIsGivenToAnotherAndItsLateResultIsDiscarded) {
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
  EXPECT_FALSE(queue.commit(late[1], outcome_of(late[1])));
  EXPECT_EQ(number("SELECT count(*) FROM event WHERE kind = 'late_result' AND agent = 'slow'"), 1);
  EXPECT_EQ(queue.renew(late), std::vector<int64_t>{late[1].id});
  EXPECT_TRUE(queue.commit(again[0], outcome_of(again[0])));
  EXPECT_FALSE(queue.commit(again[0], outcome_of(again[0])));  // Once.
  EXPECT_EQ(store->rate(session).num_discarded, 2u);
}

TEST_F(FleetStoreTest, JobsOfAnAgentThatHasEndedNeedNotWaitForTheirLeases) {
  const auto store = open();
  const auto session = begin(*store, 1);
  store->load_jobs(load_of(session));
  JobQueue& queue = store->queue();
  const auto of_killed = queue.claim(filter(session, {FleetStep::perf_compile}, "killed"), 1);
  const auto of_other = queue.claim(filter(session, {FleetStep::perf_compile}, "other"), 1);
  ASSERT_EQ(of_killed.size() + of_other.size(), 2u);
  EXPECT_EQ(queue.end_leases(session, [](const std::string& agent) { return agent == "killed"; }), 1u);
  EXPECT_FALSE(queue.commit(of_killed[0], outcome_of(of_killed[0])));
  EXPECT_TRUE(queue.commit(of_other[0], outcome_of(of_other[0])));
  const auto again = queue.claim(filter(session, {FleetStep::perf_compile}), 1);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].id, of_killed[0].id);
  EXPECT_EQ(again[0].attempt, 1);
}

TEST_F(FleetStoreTest, ReleasedJobsAndThoseOfALostDeviceHaveNoAttempt) {
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

TEST_F(FleetStoreTest, AfterThreeFailedAttemptsAJobIsExcludedUntilItIsReset) {
  const auto store = open();
  const auto session = begin(*store, 1);
  store->load_jobs(load_of(session));
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
  EXPECT_EQ(queue.counts(compile).queued, 2u);
}

TEST_F(FleetStoreTest, ARetryWaits) {
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

TEST_F(FleetStoreTest, AnInapplicableSolverIsExcludedAtOnceAndBlocksNothing) {
  const auto store = open();
  const auto session = begin(*store, 1);
  store->load_jobs(load_of(session));
  JobQueue& queue = store->queue();
  for (const FleetStep step : {FleetStep::perf_compile, FleetStep::perf_eval}) {
    for (const ClaimedJob& job : queue.claim(filter(session, {step}), 2))
      queue.commit(job, job.solver == "a.conv" ? outcome_of(job) : JobOutcome{.status = Status::unsupported});
  }
  EXPECT_EQ(work(queue, session, {FleetStep::perf_eval}), 1u);
  EXPECT_EQ(queue.counts(filter(session, {FleetStep::perf_compile, FleetStep::perf_eval})).excluded, 2u);
}

TEST_F(FleetStoreTest, OnlyApplicableSolversGetJobsWhereThatIsAskedFor) {
  const auto store = open();
  const auto session = begin(*store, 2);
  auto load = load_of(session);
  load.only_applicable = true;
  EXPECT_THAT(refusal([&] { store->load_jobs(load); }), HasSubstr("attune applicability update --session 1"));
  const auto one = configuration(1).id, two = configuration(2).id;
  store->set_applicability(session, {{one, "a.conv", "", true},
                                     {one, "b.conv", "fp32 only", false},
                                     {two, "a.conv", "no", false},
                                     {two, "b.conv", "no", false}});
  EXPECT_EQ(store->load_jobs(load), 3u);  // Compile, eval and contest of one configuration.
  store->visit_answers(session, "t", [&](const FleetAnswer& answer) {
    const bool is_left_out = answer.configuration.id == two;
    EXPECT_EQ(answer.missing == "no jobs were loaded for it", is_left_out) << answer.missing;
  });
}

TEST_F(FleetStoreTest, MoreJobsReopenTheContest) {
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

TEST_F(FleetStoreTest, MoreJobsTakeAContestFromItsAgent) {
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
  EXPECT_FALSE(queue.commit(held[0], outcome_of(held[0]))) << "it does not know the short list of b.conv";
  EXPECT_EQ(number("SELECT count(*) FROM attempt WHERE class = 'cancelled' AND ended > 0"), 1);
  EXPECT_EQ(number("SELECT count(*) FROM job WHERE step = 'perf_contest' AND agent = '' AND lease_until = 0"), 1);
  EXPECT_EQ(work(queue, session, steps), 3u);
  EXPECT_EQ(number("SELECT count(*) FROM shortlist WHERE solver = 'b.conv'"), 2);
}

TEST_F(FleetStoreTest, AConfigurationWhoseContestIsOpenAgainHasNoAnswer) {
  const auto store = open();
  const auto session = begin(*store, 1);
  auto load = load_of(session);
  load.solvers = {"a.conv"};
  store->load_jobs(load);
  work(store->queue(), session, {FleetStep::perf_compile, FleetStep::perf_eval});
  const auto answer = [&] {
    FleetAnswer found;
    store->visit_answers(session, "t", [&](const FleetAnswer& one) { found = one; });
    return found;
  };
  EXPECT_TRUE(answer().decision);
  load.solvers = {"b.conv"};
  store->load_jobs(load);
  EXPECT_FALSE(answer().decision);
  EXPECT_THAT(answer().missing, HasSubstr("3 jobs are not done"));
}

TEST_F(FleetStoreTest, AnExceptionOfAVisitorEndsTheReading) {
  const auto store = open();
  const auto session = begin(*store, 2);
  EXPECT_THROW(store->visit_answers(session, "t", [](const FleetAnswer&) { throw std::runtime_error("enough"); }),
               std::runtime_error);
  EXPECT_GT(store->load_jobs(load_of(session)), 0u);
}

TEST_F(FleetStoreTest, AFindStepTakesNoChoiceOfSolvers) {
  const auto store = open();
  const auto session = begin(*store, 1);
  auto load = load_of(session, {FleetStep::find_compile, FleetStep::find_eval});
  load.solvers = {"a.conv"};
  EXPECT_THAT(refusal([&] { store->load_jobs(load); }), HasSubstr("without --solvers"));
  EXPECT_EQ(number("SELECT count(*) FROM job"), 0);
}

TEST_F(FleetStoreTest, WrongOrdersNameTheCommandThatComesFirst) {
  const auto store = open();
  EXPECT_THAT(refusal([&] { store->begin_session(environment(), "why"); }), HasSubstr("attune solvers update"));
  EXPECT_THAT(refusal([&] { store->load_jobs(load_of(7)); }), HasSubstr("attune session init"));
  store->set_solvers({{"a.conv", "1", "conv", true, "A"}});
  const auto session = store->begin_session(environment(), "why");
  EXPECT_THAT(refusal([&] { store->load_jobs(load_of(session)); }), HasSubstr("attune configs import -t t"));
  store->add_configurations({configuration(1)});
  EXPECT_THAT(refusal([&] { store->load_jobs(load_of(session, {FleetStep::perf_eval})); }),
              HasSubstr("attune jobs load --session 1 -t t --steps perf_compile,perf_eval -l why"));
  auto load = load_of(session);
  load.solvers = {"c.conv"};
  EXPECT_THAT(refusal([&] { store->load_jobs(load); }), HasSubstr("it has a.conv"));
}

TEST_F(FleetStoreTest, AnEndedSessionGivesOutNothing) {
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
  EXPECT_THAT(refusal([&] { store->begin_session(environment(), "why"); }), HasSubstr("give another"));
}

TEST_F(FleetStoreTest, AClosedSessionTakesTheResultsOfHeldJobs) {
  const auto store = open();
  const auto session = begin(*store, 2);
  store->load_jobs(load_of(session));
  JobQueue& queue = store->queue();
  const auto compile = filter(session, {FleetStep::perf_compile});
  const auto jobs = queue.claim(compile, 3);
  store->end_session(session, SessionState::closed);
  EXPECT_TRUE(queue.claim(compile, 1).empty());
  EXPECT_TRUE(queue.renew({jobs.at(0)}).empty());
  EXPECT_TRUE(queue.commit(jobs[0], outcome_of(jobs[0])));
  queue.release({jobs.at(1)});
  run("UPDATE job SET lease_until = 1 WHERE state = 'leased'");
  EXPECT_TRUE(queue.claim(compile, 1).empty());
  EXPECT_EQ(queue.counts(compile).leased, 0u) << "an expired lease ends in a closed session, too";
  EXPECT_THAT(refusal([&] { store->reset_jobs(session, "crashed"); }), HasSubstr("session 1 is closed"));
}

TEST_F(FleetStoreTest, QuotesAndSqlInLabelsAreData) {
  const auto store = open();
  const std::string label = "x'); DROP TABLE job; --\"\n:a ?1 ü";
  store->add_configurations({configuration(1, label)});
  store->set_solvers({{"a.conv", "1", "conv", true, label}});
  const auto session = store->begin_session(environment(), label);
  auto load = load_of(session);
  load.tag = load.reason = label;
  EXPECT_EQ(store->load_jobs(load), 3u);
  JobQueue& queue = store->queue();
  const auto jobs = queue.claim(filter(session, {FleetStep::perf_compile}, label), 1);
  EXPECT_TRUE(queue.commit(jobs.at(0), {.status = Status::crashed, .detail = label}));
  EXPECT_EQ(store->session(session).reason, label);
  size_t num_seen = 0;
  store->visit_jobs({.session = session, .tag = label, .failure = "crashed"}, [&](const JobRow& row) {
    ++num_seen;
    EXPECT_EQ(row.detail, label);
    EXPECT_EQ(row.reason, label);
  });
  EXPECT_EQ(num_seen, 1u);
}

TEST_F(FleetStoreTest, AKilledAgentLosesOnlyWhatItHadNotCommitted) {
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
                   " HAVING count(*) > 1)"),
            0);
}

TEST_F(FleetStoreTest, ANewerSchemaIsRefused) {
  open();
  run("INSERT INTO schema_version VALUES (99, 0, 'attune 99')");
  EXPECT_THAT(refusal([&] { open(); }), HasSubstr("schema 99 and this program supports up to 2"));
}

TEST_F(FleetStoreTest, FilesOfOthersAreRefusedAndUnchanged) {
  const auto other = folder_.path() / "other.db";
  soci::session(soci::sqlite3, "db=\"" + other.string() + "\"") << "CREATE TABLE mine (a)";
  const auto size = std::filesystem::file_size(other);
  EXPECT_THAT(refusal([&] { open_fleet_store("sqlite:" + other.string()); }), HasSubstr("another program's"));
  EXPECT_EQ(std::filesystem::file_size(other), size);
  EXPECT_FALSE(std::filesystem::exists(other.string() + "-wal"));
  const auto text = folder_.path() / "notes.txt";
  std::ofstream(text) << "no database, but a text of more than a hundred bytes, so that a header could be in it: "
                         "0123456789 0123456789 0123456789";
  EXPECT_THAT(refusal([&] { open_fleet_store("sqlite:" + text.string()); }), HasSubstr("another program's"));
  const auto link = folder_.path() / "link.db";
  std::filesystem::create_symlink(other, link);
  EXPECT_THAT(refusal([&] { open_fleet_store("sqlite:" + link.string()); }), HasSubstr("link"));
  std::filesystem::create_symlink(text, folder_.path() / "new.db-wal");
  EXPECT_THAT(refusal([&] { open_fleet_store("sqlite:" + (folder_.path() / "new.db").string()); }), HasSubstr("link"));
  EXPECT_THAT(refusal([&] { open_fleet_store("sqlite:" + folder_.path().string()); }), HasSubstr("regular file"));
  EXPECT_THAT(refusal([&] { open_fleet_store("mysql://head/fleet"); }), HasSubstr("sqlite:FILE"));
  EXPECT_THAT(refusal([&] { open(FleetStoreUse::existing); }), HasSubstr("attune configs import"));
}

TEST_F(FleetStoreTest, ALockedFileIsRefusedAfterTheWait) {
  open();
  soci::session holder(soci::sqlite3, "db=\"" + file().string() + "\"");
  holder << "BEGIN EXCLUSIVE";
  const auto store = open_fleet_store("sqlite:" + file().string(), FleetStoreUse::existing, 50);
  try {
    store->set_solvers({{"a.conv", "1", "conv", true, "A"}});
    FAIL() << "it was not locked";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("another process keeps the fleet's store locked"));
  }
}

TEST_F(FleetStoreTest, AnInterruptedProcessStillWaitsForALockAndARenewalNotLong) {
  const auto store = open();
  const auto session = begin(*store, 1);
  store->load_jobs(load_of(session));
  JobQueue& queue = store->queue();
  const auto jobs = queue.claim(filter(session, {FleetStep::perf_compile}), 1);
  soci::session holder(soci::sqlite3, "db=\"" + file().string() + "\"");
  holder << "BEGIN IMMEDIATE";
  EXPECT_THROW(queue.renew(jobs), Error);  // After 2 s, not 10.
  set_journal_wait([](double, const std::filesystem::path&) { return false; });
  std::thread other([&] {
    ::usleep(300'000);
    holder << "COMMIT";
  });
  EXPECT_NO_THROW(queue.release(jobs));
  other.join();
  set_journal_wait(nullptr);
  EXPECT_EQ(number("SELECT count(*) FROM job WHERE state = 'leased'"), 0);
}

TEST_F(FleetStoreTest, AReadOnlyFileIsRefused) {
  const auto store = folder_.put("read_only.db", "");
  ::chmod(store.c_str(), 0444);
  const bool is_root = ::geteuid() == 0;
  if (is_root) {  // Root may write every file.
    ::chmod(folder_.path().c_str(), 0755);
    ASSERT_EQ(::seteuid(65534), 0);
  }
  const std::string says = refusal([&] { open_fleet_store("sqlite:" + store.string()); });
  if (is_root) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_THAT(says, HasSubstr("cannot be opened for writing (Permission denied)"));
}

/// The first column of a row of Markdown, and the names in the second, without their quotes.
std::pair<std::string, std::string> row_of(const std::string& line) {
  std::string cells[2];
  size_t at = 0;
  for (std::string& cell : cells) {
    const size_t begin = line.find('|', at) + 1;
    at = line.find('|', begin);
    if (begin == 0 || at == std::string::npos) return {};
    for (const char one : line.substr(begin, at - begin)) {
      if (one != '`' && one != ' ') cell += one;
    }
  }
  return {cells[0], cells[1]};
}

TEST_F(FleetStoreTest, ThePageNamesEveryTableAndColumn) {
  open();
  std::map<std::string, std::string> tables;
  {
    soci::session database(soci::sqlite3, "db=\"" + file().string() + "\"");
    const soci::rowset<soci::row> rows = database.prepare
                                         << "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c"
                                            " WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'"
                                            " ORDER BY m.name, c.cid";
    for (const soci::row& row : rows) {
      std::string& columns = tables[row.get<std::string>(0)];
      columns += (columns.empty() ? "" : ",") + row.get<std::string>(1);
    }
  }
  std::map<std::string, std::string> documented;
  std::ifstream page(std::string(ATTUNE_SOURCE_DIR) + "/docs/formats/fleet_store.md");
  for (std::string line; std::getline(page, line);) {
    const auto [table, columns] = row_of(line);
    if (tables.contains(table)) documented[table] = columns;
  }
  EXPECT_EQ(documented, tables);
}

}  // namespace
}  // namespace attune
