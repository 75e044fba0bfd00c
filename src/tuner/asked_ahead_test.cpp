// SPDX-License-Identifier: MIT
// When strategies are asked where kernels are compiled while others are measured. They are asked before they are told
// of the candidate being admitted, and on a search thread, for which the device does not wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <set>
#include <thread>

#include "base/error.h"
#include "device/fake/fake_device.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "process/temporary_folder.h"
#include "solver/registry.h"
#include "testing/compiled_solver.h"
#include "testing/script_compiler.h"
#include "testing/tuner_doubles.h"
#include "tuner/kernels.h"
#include "tuner/tuner.h"

namespace attune {
namespace {

/// Asks for the configs of a listed space in their order, and logs the questions (`?2`) and the first that it is told
/// of each config: a failure (`!2`) or anything else (`=2`).
class LoggingStrategy final : public Strategy {
 public:
  LoggingStrategy(uint64_t size, std::function<void(std::string)> log) : size_(size), log_(std::move(log)) {}
  std::vector<uint64_t> ask(size_t) override {
    if (exhausted()) return {};
    log_(fmt::format("?{}", next_));
    return {next_++};
  }
  void tell(const Trial& trial) override {
    if (told_.insert(trial.index).second)
      log_(fmt::format("{}{}", trial.status == Status::ok ? '=' : '!', trial.index));
  }
  bool exhausted() const override { return next_ == size_; }

 private:
  uint64_t size_, next_ = 1;  // The first is the default config.
  std::set<uint64_t> told_;
  std::function<void(std::string)> log_;
};

/// Counts the admissions that were begun, for any thread.
class CountingExecutor final : public WithholdingExecutor {
 public:
  CountingExecutor(Executor& inner, std::atomic<size_t>& num_admissions)
      : WithholdingExecutor(inner), num_admissions_(num_admissions) {}
  void begin(Request request) override {
    if (std::holds_alternative<request::Admit>(request)) ++num_admissions_;
    WithholdingExecutor::begin(std::move(request));
  }

 private:
  std::atomic<size_t>& num_admissions_;
};

class AskedAhead : public testing::Test {
 protected:
  AskedAhead() {
    options_.compiles_beside_measuring = true;
    options_.asked_ahead = 2;
  }
  void run(const CompiledSolver::Script& script, const std::function<void(const Config&)>& on_prepare) {
    FakeDevice device;
    Registry solvers;
    solvers.add(std::make_unique<CompiledSolver>(std::vector<int64_t>{9, 8, 7, 6, 5, 4, 3}, script, on_prepare));
    const ScriptCompiler compiler;
    Kernels kernels(solvers, device.info(), cache_.path() / "kernels", {.jobs = 2, .compilers = {&compiler}});
    LocalExecutor local(device, solvers);
    num_admissions_ = 0;
    CountingExecutor executor(local, num_admissions_);
    log_.clear();
    num_beside_ = 0;
    const auto own = std::this_thread::get_id();
    options_.make_strategy = [&](const SearchTask& task, const StrategyOptions&) {
      return std::make_unique<LoggingStrategy>(task.domain.size(), [&](const std::string& what) {
        num_beside_ += what.front() == '?' && std::this_thread::get_id() != own;
        log_ += (log_.empty() ? "" : " ") + what;
        if (on_log_) on_log_(what);
      });
    };
    TestClock clock;
    SilentObserver observer;
    const auto result =
        Tuner(executor, *journal_, options_, clock, &kernels).run({{.problem = problem_}}, observer, {});
    EXPECT_TRUE(result.front().decision) << result.front().reason;
  }
  /// Compiles all kernels in a run whose results are discarded, so that no later run waits for one.
  void fill_cache() {
    run(compiling, {});
    journal_ = open_memory_journal();
  }
  /// Takes the decision out of the journal, as if the run had been killed before.
  void forget_decision() {
    std::unique_ptr<Journal> kept = open_memory_journal();
    journal_->scan({}, [&](const Entry& entry, const Stamp&) {
      if (!std::holds_alternative<Decision>(entry)) kept->append({&entry, 1});
    });
    journal_ = std::move(kept);
  }
  /// The script of a config that compiles; only the default config compiles.
  static std::string compiling(const Config& config) { return ": " + config.key() + "; : >out"; }
  static std::string failing(const Config& config) {
    return config.integer("us") == 9 ? compiling(config) : ": " + config.key() + "; exit 1";
  }
  static void refuse(const Config& config) {
    if (config.integer("us") != 9) fail(ErrorCode::unavailable, "planted refusal");
  }

  const TemporaryFolder cache_{"asked-ahead-test"};
  const Problem text_ = Problem::parse("gemm_a16w16 m=5 n=33 k=8 dtype=fp32");
  const Problem problem_ = op_of(text_).normalise(text_, FakeDevice::describe());
  std::unique_ptr<Journal> journal_ = open_memory_journal();
  TunerOptions options_;
  std::string log_;
  size_t num_beside_ = 0;  ///< Questions on a thread other than the tuner's.
  std::atomic<size_t> num_admissions_ = 0;
  std::function<void(const std::string& what)> on_log_;  ///< Called while a strategy is asked or told.
};

TEST_F(AskedAhead, CandidatesAreAskedForWhileAnotherIsAdmitted) {
  fill_cache();
  run(compiling, {});
  EXPECT_THAT(log_, testing::StartsWith("?1 ?2 ?3 =0 ?4 ?5 ?6 =")) << "three at first, then one for each but the first";
  EXPECT_EQ(num_beside_, 6u);
}

TEST_F(AskedAhead, TheDeviceDoesNotWaitForALongQuestion) {
  fill_cache();
  constexpr size_t kDefaultConfig = 1, kAskedBefore = 3;
  size_t num_meanwhile = 0;
  on_log_ = [&](const std::string& what) {
    if (what != "?4") return;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (num_admissions_ < kDefaultConfig + kAskedBefore && std::chrono::steady_clock::now() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    num_meanwhile = num_admissions_;
  };
  run(compiling, {});
  EXPECT_EQ(num_meanwhile, kDefaultConfig + kAskedBefore)
      << "all that were asked for before are admitted while it computes";
  EXPECT_THAT(log_, testing::StartsWith("?1 ?2 ?3 =0 ?4 ?5 ?6 =")) << "in the same order as ever";
}

TEST_F(AskedAhead, AnErrorOfTheSearchEndsTheRun) {
  fill_cache();
  on_log_ = [](const std::string& what) {
    if (what == "?4") fail(ErrorCode::invalid_input, "planted error");
  };
  EXPECT_THROW(run(compiling, {}), Error);
}

TEST_F(AskedAhead, StrategiesAreToldOfAFailureAfterTheQuestionsBesideIt) {
  fill_cache();
  const std::string in_order = "?1 ?2 ?3 =0 !1 ?4 !2 ?5 !3 ?6 !4 !5 !6";
  run(compiling, refuse);
  EXPECT_EQ(log_, in_order);
  EXPECT_EQ(num_beside_, 6u);
  forget_decision();
  run(compiling, refuse);
  EXPECT_EQ(log_, in_order) << "of failures that an earlier run has met, too";
  EXPECT_EQ(num_beside_, 6u);
}

TEST_F(AskedAhead, StrategiesAreToldOfAKernelThatDoesNotCompileAfterTheQuestionsBesideIt) {
  run(failing, {});
  EXPECT_EQ(log_, "?1 ?2 ?3 =0 !1 ?4 !2 ?5 !3 ?6 !4 !5 !6");
  EXPECT_EQ(num_beside_, 6u);
}

TEST_F(AskedAhead, StrategiesAreToldOfThoseThatAnEarlierRaceDroppedAfterTheQuestionsBesideThem) {
  run(compiling, {});
  forget_decision();
  run(compiling, {});
  EXPECT_EQ(log_, "?1 ?2 ?3 =0 =1 ?4 =2 ?5 =3 ?6 =4 =5 =6");
}

}  // namespace
}  // namespace attune
