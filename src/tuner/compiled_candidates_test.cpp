// SPDX-License-Identifier: MIT
// Candidates with compiled kernels: when they are compiled, and their entries in the journal.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <set>

#include "base/error.h"
#include "device/fake/fake_device.h"
#include "measure/contenders.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "process/temporary_folder.h"
#include "solver/registry.h"
#include "testing/becomes_true.h"
#include "testing/compiled_solver.h"
#include "testing/script_compiler.h"
#include "testing/tuner_doubles.h"
#include "tuner/kernels.h"
#include "tuner/tuner.h"

namespace attune {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Pair;

/// Asks for the configs of a listed space in their order and counts how many it was asked for.
class OrderedStrategy final : public Strategy {
 public:
  OrderedStrategy(uint64_t size, std::function<void(size_t)> on_ask) : size_(size), on_ask_(std::move(on_ask)) {}
  std::vector<uint64_t> ask(size_t max_count) override {
    std::vector<uint64_t> asked;
    for (; asked.size() < max_count && next_ < size_; ++next_) asked.push_back(next_);
    on_ask_(next_);
    return asked;
  }
  void tell(const Trial&) override {}
  bool exhausted() const override { return next_ == size_; }

 private:
  uint64_t size_, next_ = 1;  // The first is the default config.
  std::function<void(size_t)> on_ask_;
};

using Names = std::vector<std::string>;

std::vector<int64_t> times_us(size_t count) {
  std::vector<int64_t> times;
  for (size_t i = 0; i < count; ++i) times.push_back(static_cast<int64_t>(90 - 5 * (i * 7 % count)));
  return times;
}

class TunerOfCompiledCandidates : public testing::Test {
 protected:
  struct Run {
    std::vector<std::string> order;  ///< In which candidates began.
    std::optional<Decision> decision;
  };
  Run run(std::vector<int64_t> times, const CompiledSolver::Script& script, uint32_t jobs = 2,
          const std::function<void(const Config&)>& on_prepare = {}) {
    const TemporaryFolder cache("compiled-candidates-test");
    const size_t count = times.size();
    FakeDevice device;
    Registry solvers;
    std::set<Config> prepared;
    std::atomic<size_t> num_prepared = 0;  // The search asks on a thread of its own.
    max_ahead_ = 0;
    solvers.add(std::make_unique<CompiledSolver>(std::move(times), script, [&](const Config& config) {
      prepared.insert(config);
      num_prepared = prepared.size();
      if (on_prepare) on_prepare(config);
    }));
    const ScriptCompiler compiler;
    Kernels kernels(solvers, device.info(), cache.path() / "kernels", {.jobs = jobs, .compilers = {&compiler}});
    LocalExecutor executor(device, solvers);
    if (ordered_) {
      options_.make_strategy = [&](const SearchTask& task, const StrategyOptions&) {
        const auto on_ask = [&, is_another = task.problem == another_](size_t asked) {
          if (is_another) another_is_asked_ = true;
          // The search never asks for the default config, which is prepared first.
          if (!is_another) max_ahead_ = std::max(max_ahead_, asked - std::max<size_t>(num_prepared, 1));
        };
        return std::make_unique<OrderedStrategy>(count, on_ask);
      };
    }
    journal_ = open_memory_journal();
    TestClock clock;
    SilentObserver observer;
    std::vector<WorkItem> items = {{.problem = problem_}};
    if (with_another_) items.push_back({.problem = another_});
    const auto result = Tuner(executor, *journal_, options_, clock, &kernels).run(items, observer, false);
    Run run{{}, result.front().decision};
    EXPECT_TRUE(run.decision) << result.front().reason;
    journal_->scan({.problem = problem_}, [&](const Entry& entry, const Stamp&) {
      if (const auto* started = std::get_if<Started>(&entry)) run.order.push_back(started->candidate.config.key());
    });
    return run;
  }
  std::string marked(const std::string& name) const { return (folder_.path() / name).string(); }

  const TemporaryFolder folder_{"compiled-candidates-test"};
  const Problem text_ = Problem::parse("gemm_a16w16 m=5 n=33 k=8 dtype=fp32");
  const Problem problem_ = op_of(text_).normalise(text_, FakeDevice::describe());
  const Problem another_ = problem_.with("m", "6");
  TunerOptions options_;
  bool with_another_ = false;  ///< Also tune `another_`.
  bool ordered_ = false;
  std::atomic<bool> another_is_asked_ = false;
  size_t max_ahead_ = 0;  ///< Candidates of `problem_` asked for and not prepared yet.
  std::unique_ptr<Journal> journal_;
};

/// Whether this process has a child that runs.
bool has_running_child() {
  siginfo_t ended{};
  return ::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0;
}

TEST_F(TunerOfCompiledCandidates, OfAHostAreMeasuredWhileNoCompilerRuns) {
  size_t num_prepared = 0;
  const auto script = [](const Config& config) { return ": " + config.key() + "; sleep 0.003; : >out"; };
  run(times_us(4), script, 1, [&](const Config&) {
    EXPECT_FALSE(has_running_child());
    ++num_prepared;
  });
  EXPECT_GE(num_prepared, 4u);
}

/// The compiler of the last config ends only when the one before it is prepared, which waits until it has begun.
TEST_F(TunerOfCompiledCandidates, AreMeasuredWhileLaterOnesAreCompiled) {
  ordered_ = true;
  options_.compiles_beside_measuring = true;
  const auto script = [&](const Config& config) {
    if (config.integer("us") != 5) return ": " + config.key() + "; : >out";
    return ": >" + marked("begun") + "; for i in 1 2 3 4 5 6 7 8 9; do for j in 1 2 3 4 5 6 7 8 9; do [ -e " +
           marked("prepared") + " ] && : >out && exit; sleep 0.01; done; done; exit 1";
  };
  const auto tuned = run({9, 7, 5}, script, 2, [&](const Config& config) {
    if (config.integer("us") != 7) return;
    EXPECT_TRUE(becomes_true([&] { return fs::exists(marked("begun")); }));
    std::ofstream(marked("prepared")) << "";
  });
  ASSERT_TRUE(tuned.decision);
  EXPECT_EQ(tuned.decision->winner.config.key(), "us=5");
}

/// The compiler of the last config, which may be the first that is asked for, ends only when the second problem's first
/// candidate is prepared.
TEST_F(TunerOfCompiledCandidates, OfAnotherProblemAreMeasuredWhileOneWaitsForItsCompiler) {
  ordered_ = true;
  with_another_ = true;
  options_.compiles_beside_measuring = true;
  const auto script = [&](const Config& config) {
    if (config.integer("us") != 5) return ": " + config.key() + "; : >out";
    return "for i in 1 2 3 4 5 6 7 8 9; do for j in 1 2 3 4 5 6 7 8 9; do [ -e " + marked("another") +
           " ] && : >out && exit; sleep 0.01; done; done; exit 1";
  };
  for (const std::vector<int64_t>& times : {std::vector<int64_t>{9, 7, 5}, {9, 5}}) {
    fs::remove(marked("another"));
    int num_first = 0;
    const auto tuned = run(times, script, 2, [&](const Config& config) {
      if (config.integer("us") == 9 && ++num_first == 2) std::ofstream(marked("another")) << "";
    });
    ASSERT_TRUE(tuned.decision);
    EXPECT_EQ(tuned.decision->winner.config.key(), "us=5") << times.size();
  }
}

TEST_F(TunerOfCompiledCandidates, OfTheNextProblemAreAskedForBeforeTheirTurn) {
  ordered_ = true;
  with_another_ = true;
  options_.compiles_beside_measuring = true;
  int num_last = 0;
  // The last kernel takes a while, so that it is waited for on a slow machine, too.
  const auto compile = [](const Config& config) {
    return (config.integer("us") == 5 ? "sleep 0.2; : " : ": ") + config.key() + "; : >out";
  };
  run({9, 7, 5}, compile, 2, [&](const Config& config) {
    if (config.integer("us") != 5) return;
    EXPECT_TRUE(becomes_true([&] { return another_is_asked_.load(); }));
    ++num_last;
  });
  EXPECT_GE(num_last, 2);
}

TEST_F(TunerOfCompiledCandidates, AreAskedForAheadAsFarAsTheOptionsSay) {
  ordered_ = true;
  run(times_us(5), [](const Config& config) { return ": " + config.key() + "; : >out"; });
  EXPECT_EQ(max_ahead_, 4u) << "a batch is compiled before it is measured";
  options_.compiles_beside_measuring = true;
  options_.asked_ahead = 2;
  run(times_us(8), [](const Config& config) { return ": " + config.key() + "; : >out"; });
  EXPECT_EQ(max_ahead_, 3u) << "the one that is tried, and two ahead of it";
}

TEST_F(TunerOfCompiledCandidates, AreNotAskedForAheadWhereNoneNeedsAKernel) {
  ordered_ = true;
  options_.compiles_beside_measuring = true;
  options_.asked_ahead = 2;
  run(times_us(5), [](const Config&) { return ""; });
  EXPECT_EQ(max_ahead_, 4u) << "a batch, as where compilers and measurements alternate";
}

TEST_F(TunerOfCompiledCandidates, GetTheSameDecisionWhateverOrderCompilersEndIn) {
  options_.compiles_beside_measuring = true;
  options_.asked_ahead = 3;
  options_.strategy = {.name = "local", .seed = 7, .max_trials = 6};
  const auto script = [&](const Config& config) {
    return fmt::format("[ -e {} ] && sleep 0.03; : >out", marked(config.key()));
  };
  std::vector<Run> runs;
  for (const Names& slow : {Names{"us=90", "us=55"}, Names{"us=75", "us=80"}}) {
    for (const auto& file : fs::directory_iterator(folder_.path())) fs::remove(file);
    for (const std::string& config : slow) std::ofstream(marked(config)) << "";
    runs.push_back(run(times_us(8), script, 4));
  }
  EXPECT_THAT(runs[0].order, testing::SizeIs(testing::Ge(6u)));
  EXPECT_EQ(runs[0].order, runs[1].order);
  ASSERT_TRUE(runs[0].decision && runs[1].decision);
  EXPECT_EQ(runs[0].decision->winner, runs[1].decision->winner);
  EXPECT_EQ(runs[0].decision->finalists, runs[1].decision->finalists) << "with all their samples";
}

TEST_F(TunerOfCompiledCandidates, KeepWhatTheCompilerReportedOfEachInTheJournal) {
  const auto tuned = run({9, 5}, [](const Config& config) {
    return fmt::format("echo registers={}; printf {} >out", config.integer("us"), config.key());
  });
  const auto is_report_of = [](const Candidate& candidate) {
    const std::string registers = std::to_string(candidate.config.integer("us"));
    return ElementsAre(
        AllOf(Contains(Pair("registers", registers)), testing::Not(Contains(Pair("options", "--fast")))));
  };
  std::map<Stage, size_t> num_records;
  journal_->scan({.problem = problem_}, [&](const Entry& entry, const Stamp&) {
    const auto* record = std::get_if<Record>(&entry);
    if (record == nullptr) return;
    ++num_records[record->stage];
    EXPECT_THAT(record->metadata, is_report_of(record->candidate)) << record->candidate.name();
  });
  EXPECT_EQ(num_records[Stage::verify], 2u);
  EXPECT_GE(num_records[Stage::final], 1u);
  for (const Finalist& finalist : tuned.decision.value().finalists)
    EXPECT_THAT(finalist.metadata, is_report_of(finalist.candidate)) << finalist.candidate.name();
}

/// The script compiler on a machine that lacks it.
class MissingCompiler final : public ScriptCompiler {
 public:
  std::string toolchain() const override { fail(ErrorCode::unavailable, "install the script compiler"); }
};

/// What a machine without the compiler finds, where another one has built some kernels.
class TunerWithoutACompiler : public testing::Test {
 protected:
  TunerWithoutACompiler() {
    for (int64_t us = 10; us < 90; us += 2) times_.push_back(us);
    solvers_.add(std::make_unique<CompiledSolver>(
        times_, [](const Config& config) { return ": " + config.key() + "; : >out"; }));
  }
  void build(const std::vector<int64_t>& times) {
    Kernels kernels(solvers_, device_.info(), cache_.path() / "kernels", {.jobs = 1, .compilers = {&compiler_}});
    LocalExecutor executor(device_, solvers_);
    const auto opened = contenders(executor, problem_, Protocol());
    for (const int64_t us : times) {
      const std::vector<Candidate> one = {candidate(us)};
      ASSERT_TRUE(kernels.build(problem_, opened, one).front().outcome.ok());
    }
  }
  TuneResult run(const WorkItem& item) {
    Kernels kernels(solvers_, device_.info(), cache_.path() / "kernels",
                    {.jobs = 1, .stored_toolchains = {{"script", "sh-1"}}, .compilers = {&missing_}});
    LocalExecutor executor(device_, solvers_);
    TestClock clock;
    SilentObserver observer;
    const std::vector<WorkItem> items = {item};
    return Tuner(executor, *journal_, options_, clock, &kernels).run(items, observer, false).front();
  }
  static Candidate candidate(int64_t us) { return {"onednn.gemm", "1", CompiledSolver::config_of(us)}; }
  std::set<Candidate> started() const {
    std::set<Candidate> all;
    journal_->scan({}, [&](const Entry& entry, const Stamp&) {
      if (const auto* one = std::get_if<Started>(&entry)) all.insert(one->candidate);
    });
    return all;
  }

  const TemporaryFolder cache_{"without-compiler-test"};
  const Problem text_ = Problem::parse("gemm_a16w16 m=5 n=33 k=8 dtype=fp32");
  const Problem problem_ = op_of(text_).normalise(text_, FakeDevice::describe());
  const ScriptCompiler compiler_;
  const MissingCompiler missing_;
  std::vector<int64_t> times_;
  FakeDevice device_;
  Registry solvers_;
  TunerOptions options_;
  std::unique_ptr<Journal> journal_ = open_memory_journal();
};

TEST_F(TunerWithoutACompiler, ASearchMeasuresBuiltKernelsAndNamesTheOthers) {
  std::vector<int64_t> built;
  for (size_t i = 0; i < times_.size(); i += 2) built.push_back(times_[i]);
  build(built);
  options_.strategy.max_trials = 20;
  const auto is_built = [&](const Candidate& one) {
    return std::find(built.begin(), built.end(), one.config.integer("us")) != built.end();
  };
  const TuneResult result = run({.problem = problem_, .goal = Goal::short_list});
  EXPECT_EQ(result.ending, Ending::shortlisted) << result.reason;
  EXPECT_FALSE(result.short_list.empty());
  ASSERT_FALSE(result.unbuilt.empty());
  std::vector<int64_t> wanted;
  for (const UnbuiltCandidate& one : result.unbuilt) {
    EXPECT_EQ(one.problem, problem_);
    EXPECT_FALSE(is_built(one.candidate)) << one.candidate.name();
    wanted.push_back(one.candidate.config.integer("us"));
  }
  const std::set<Candidate> before = started();
  EXPECT_TRUE(std::all_of(before.begin(), before.end(), is_built)) << "the journal has no other candidate";
  build(wanted);
  run({.problem = problem_, .goal = Goal::short_list});
  EXPECT_GT(started().size(), before.size()) << "the next round measures them";
}

TEST_F(TunerWithoutACompiler, ASearchEndsOnceItWantsManyKernels) {
  build({10});
  options_.strategy.max_trials = 1000;
  const TuneResult some = run({.problem = problem_, .goal = Goal::short_list});
  EXPECT_EQ(some.unbuilt.size(), kMaxUnbuilt);
  EXPECT_EQ(some.ending, Ending::shortlisted) << some.reason;
}

TEST_F(TunerWithoutACompiler, AContestWithoutACandidatesKernelIsNotDecided) {
  build({10, 12});
  const TuneResult result =
      run({.problem = problem_, .candidates = {candidate(12), candidate(14)}, .is_contest = true});
  EXPECT_EQ(result.ending, Ending::cut);
  EXPECT_TRUE(result.lacks_kernels);
  EXPECT_FALSE(result.decision);
  build({14});
  const TuneResult next = run({.problem = problem_, .candidates = {candidate(12), candidate(14)}, .is_contest = true});
  EXPECT_TRUE(next.decision) << next.reason;
}

TEST_F(TunerWithoutACompiler, AContestWithoutTheKernelOfADefaultConfigIsNotDecided) {
  build({12});
  const TuneResult result = run({.problem = problem_, .candidates = {candidate(12)}, .is_contest = true});
  EXPECT_TRUE(result.lacks_kernels);
  EXPECT_FALSE(result.decision);
}

}  // namespace
}  // namespace attune
