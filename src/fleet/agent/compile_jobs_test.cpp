// SPDX-License-Identifier: MIT
#include "fleet/agent/compile_jobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "process/temporary_folder.h"
#include "testing/fleet/fake_job_queue.h"
#include "testing/tuner_doubles.h"

namespace attune {
namespace {

constexpr const char* kGemm = "gemm_a16w16 m=1 n=1 k=1 dtype=fp32";
constexpr const char* kStatic = "static.gemm";

/// Each config needs a kernel of its own; `x=0`, the default config, only one that compiles if `default_is_good`.
class StaticSolver final : public Solver, public StaticSpace {
 public:
  StaticSolver(int64_t num_configs, bool is_good) : num_configs_(num_configs), is_good_(is_good) {}
  std::string_view id() const override { return kStatic; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "for this test"; }
  Support supports(const Problem& problem, const DeviceInfo&) const override {
    return problem.integer("m") == 1 ? Support() : Support::no("computes one row");
  }
  const StaticSpace* static_space() const override { return this; }
  SearchSpace space(const Problem&, const DeviceInfo&) const override {
    std::vector<Value> values;
    for (int64_t x = 0; x < num_configs_; ++x) values.emplace_back(x);
    return SearchSpace::product({{.name = "x", .values = values}}, {});
  }
  Config default_config(const Problem&, const DeviceInfo&) const override { return Config::parse("x=0"); }
  std::vector<CompileTask> compile_tasks(const Problem&, const Config& config, const DeviceInfo&) const override {
    return {{"hostcc",
             fmt::format("int f(void) {{ return {}; {}", config.integer("x"), is_good_ ? "}" : ""),
             "x86-64-v2",
             {},
             {"f"}}};
  }
  std::unique_ptr<Backend> open(Device&) const override { return nullptr; }

 private:
  int64_t num_configs_;
  bool is_good_;
};

/// A library, whose configs only a device tells.
class LibrarySolver final : public Solver {
 public:
  std::string_view id() const override { return "library.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "for this test"; }
  Support supports(const Problem&, const DeviceInfo&) const override { return {}; }
  std::unique_ptr<Backend> open(Device&) const override { return nullptr; }
};

class CompileJobsTest : public testing::Test {
 protected:
  bool run(int64_t num_configs = 4, bool is_good = true) {
    Registry solvers;
    solvers.add(std::make_unique<StaticSolver>(num_configs, is_good));
    solvers.add(std::make_unique<LibrarySolver>());
    solvers.add_unavailable("absent.gemm", "for this test", "it is not here");
    Kernels kernels(solvers, device_, folder_.path() / "cache");
    CompileJobsOptions options;
    options.filter = {.session = 1, .steps = {FleetStep::perf_compile, FleetStep::find_compile}, .agent = "test"};
    options.solvers = solvers_of_session_;
    options.on_job = [this](const EndedJob& job) { ended_.push_back(job); };
    options.skips_unavailable = has_no_device_;
    options.max_wait_s = 60;
    options.has_ended = [](const std::string& agent) { return agent == "killed"; };
    options.stop = [this](size_t) { return is_stopped_; };
    CompileJobs jobs(queue_, solvers, device_, kernels, std::move(options), clock_);
    const bool is_complete = jobs.run();
    counts_ = jobs.counts();
    return is_complete;
  }
  size_t num_kernels() const { return KernelCache({folder_.path() / "cache"}, kProgramCacheBytes).list().size(); }

  DeviceInfo device_{.id = "fake:0", .kind = "fake", .gfx = "fake", .num_units = 1};
  TemporaryFolder folder_{"compile-jobs-test"};
  FakeJobQueue queue_;
  TestClock clock_;
  bool is_stopped_ = false, has_no_device_ = false;
  std::map<std::string, std::vector<std::string>, std::less<>> solvers_of_session_;
  std::vector<EndedJob> ended_;
  FleetCounts counts_;
};

TEST_F(CompileJobsTest, APerfStepCompilesWhatItsSearchBeginsWithAndNoMore) {
  queue_.add(FleetStep::perf_compile, kGemm, kStatic);
  EXPECT_TRUE(run(40));
  EXPECT_EQ(queue_.at(1).state, JobState::done);
  EXPECT_EQ(num_kernels(), 32u);
  EXPECT_EQ(counts_.num_done, 1u);
}

TEST_F(CompileJobsTest, AFindStepCompilesTheDefaultConfigs) {
  queue_.add(FleetStep::find_compile, kGemm, "");
  EXPECT_TRUE(run(40));
  EXPECT_EQ(num_kernels(), 1u);
}

TEST_F(CompileJobsTest, AFindStepCompilesForTheSessionsSolversAlone) {
  solvers_of_session_["gemm_a16w16"] = {"library.gemm"};
  queue_.add(FleetStep::find_compile, kGemm, "");
  EXPECT_TRUE(run(40));
  EXPECT_EQ(queue_.at(1).state, JobState::done);
  EXPECT_EQ(num_kernels(), 0u);
}

TEST_F(CompileJobsTest, ALibraryHasNothingToCompile) {
  queue_.add(FleetStep::perf_compile, kGemm, "library.gemm");
  EXPECT_TRUE(run());
  EXPECT_EQ(queue_.at(1).state, JobState::done);
  EXPECT_EQ(num_kernels(), 0u);
}

TEST_F(CompileJobsTest, WithoutADeviceASolverThatIsNotHereCountsAsALibrary) {
  queue_.add(FleetStep::perf_compile, kGemm, "absent.gemm");
  has_no_device_ = true;
  EXPECT_TRUE(run());
  EXPECT_EQ(queue_.at(1).state, JobState::done);
  queue_.add(FleetStep::perf_compile, kGemm, "absent.gemm");
  has_no_device_ = false;
  EXPECT_TRUE(run());
  EXPECT_EQ(queue_.at(2).outcome.status, Status::unsupported);
}

TEST_F(CompileJobsTest, TakesTheJobsOfAnAgentThatWasKilled) {
  queue_.add(FleetStep::perf_compile, kGemm, "library.gemm");
  queue_.claim({.session = 1, .steps = {FleetStep::perf_compile}, .agent = "killed"}, 1);
  EXPECT_TRUE(run());
  EXPECT_EQ(queue_.at(1).state, JobState::done);
}

TEST_F(CompileJobsTest, WhatDoesNotApplyOrIsNoProblemEndsUnsupported) {
  queue_.add(FleetStep::perf_compile, "gemm_a16w16 m=2 n=1 k=1 dtype=fp32", kStatic);
  queue_.add(FleetStep::perf_compile, "no problem", kStatic);
  queue_.add(FleetStep::perf_compile, kGemm, "no.gemm");
  queue_.add(FleetStep::perf_compile, kGemm, kStatic);
  EXPECT_TRUE(run());
  EXPECT_EQ(queue_.at(1).outcome.detail, "static.gemm computes one row");
  for (const int64_t id : {1, 2, 3}) EXPECT_EQ(queue_.at(id).outcome.status, Status::unsupported) << id;
  EXPECT_EQ(queue_.at(4).state, JobState::done);
}

TEST_F(CompileJobsTest, AJobWithoutAKernelThatCompilesFails) {
  queue_.add(FleetStep::perf_compile, kGemm, kStatic);
  EXPECT_TRUE(run(2, false));
  EXPECT_EQ(queue_.at(1).outcome.status, Status::compile_failed);
  EXPECT_FALSE(queue_.at(1).outcome.detail.empty());
  EXPECT_EQ(counts_.num_failed, 1u);
}

TEST_F(CompileJobsTest, AWantedKernelIsBuiltAndOneThatDoesNotCompileFailsNoJob) {
  queue_.add(FleetStep::perf_compile, kGemm, kStatic);
  queue_.wanted_kernels[1] = {{kStatic, kGemm, Candidate::parse("static.gemm@1:x=35")},
                              {kStatic, kGemm, Candidate::parse("static.gemm@1:x=36")}};
  EXPECT_TRUE(run(40));
  EXPECT_EQ(num_kernels(), 2u) << "and not what the search began with";
  queue_.add(FleetStep::perf_compile, kGemm, kStatic);
  queue_.wanted_kernels[2] = {{kStatic, kGemm, Candidate::parse("static.gemm@1:x=1")}};
  EXPECT_TRUE(run(40, false));
  EXPECT_EQ(queue_.at(2).state, JobState::done);
  EXPECT_THAT(queue_.at(2).outcome.detail, testing::HasSubstr("1 of 1 kernel did not compile: "));
}

TEST_F(CompileJobsTest, AWantedKernelThatThisMachineCannotBuildFailsTheJob) {
  const std::vector<WantedCandidate> all = {
      {"no.gemm", kGemm, Candidate::parse("no.gemm@1:x=1")},
      {"absent.gemm", kGemm, Candidate::parse("absent.gemm@1:x=1")},
      {kStatic, "no problem", Candidate::parse("static.gemm@1:x=1")},
      {kStatic, kGemm, Candidate::parse("static.gemm@2:x=1")},
      {kStatic, kGemm, Candidate::parse("static.gemm@1:x=99")},
  };
  has_no_device_ = true;
  for (size_t i = 0; i < all.size(); ++i) {
    queue_.add(FleetStep::perf_compile, kGemm, kStatic);
    queue_.wanted_kernels[static_cast<int64_t>(i) + 1] = {{kStatic, kGemm, Candidate::parse("static.gemm@1:x=3")},
                                                          all[i]};
  }
  EXPECT_TRUE(run());
  for (const auto& one : queue_.jobs) {
    EXPECT_EQ(one.outcome.status, Status::compile_failed);
    EXPECT_TRUE(may_be_retried(one.outcome.status));
    EXPECT_THAT(one.outcome.detail, testing::StartsWith("a wanted kernel was not built: "));
  }
  EXPECT_EQ(num_kernels(), 1u) << "of what it can build";
}

TEST_F(CompileJobsTest, WaitsForSearchesOfAgentsWithoutACompiler) {
  queue_.add(FleetStep::perf_compile, kGemm, kStatic);
  queue_.searches = {BareSearches::waiting, BareSearches::waiting, BareSearches::running};
  queue_.on_search = [this] {
    if (!queue_.searches.empty()) return;
    for (int x = 0; x < 40; ++x)
      queue_.wanted_kernels[1].push_back({kStatic, kGemm, Candidate::parse(fmt::format("static.gemm@1:x={}", x))});
    queue_.at(1).state = JobState::queued;
  };
  EXPECT_TRUE(run(40));
  EXPECT_EQ(queue_.at(1).state, JobState::done);
  EXPECT_EQ(counts_.num_done, 2u);
  EXPECT_EQ(num_kernels(), 40u) << "32 at first";
}

TEST_F(CompileJobsTest, DoesNotWaitForAnAgentWithoutACompilerThatWasLost) {
  queue_.add(FleetStep::perf_compile, kGemm, kStatic);
  queue_.searches.assign(1000, BareSearches::waiting);
  EXPECT_TRUE(run());
  EXPECT_LT(clock_.now_s(), 100);
}

TEST_F(CompileJobsTest, AStopGivesJobsBack) {
  queue_.add(FleetStep::perf_compile, kGemm, kStatic);
  is_stopped_ = true;
  EXPECT_FALSE(run(32));
  EXPECT_NE(queue_.at(1).state, JobState::leased);
}

TEST_F(CompileJobsTest, AQueueThatFailsLeavesNoJobLeased) {
  queue_.add(FleetStep::perf_compile, kGemm, kStatic);
  queue_.add(FleetStep::perf_compile, kGemm, "library.gemm");
  queue_.is_away = true;
  EXPECT_THROW(run(), Error);
  for (const auto& one : queue_.jobs) EXPECT_EQ(one.state, JobState::queued);
}

}  // namespace
}  // namespace attune
