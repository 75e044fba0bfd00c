// SPDX-License-Identifier: MIT
#include "dispatch/plans/plan_maker.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "device/devices.h"
#include "ops/op.h"

namespace attune {
namespace {

/// Number of running plans, and whether two ever overlapped.
struct Overlap {
  std::atomic<int> running{0};
  std::atomic<bool> seen{false};
};

/// A solver whose plans only one thread at a time may run.
class SerialSolver final : public Solver {
 public:
  explicit SerialSolver(Overlap& overlap) : overlap_(overlap) {}
  std::string_view id() const override { return "portable.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "notices a second thread"; }
  Support supports(const Problem&, const DeviceInfo&) const override { return {}; }
  std::unique_ptr<Backend> open(Device&) const override { return std::make_unique<LoggingBackend>(overlap_); }

 private:
  class LoggingPlan final : public Plan {
   public:
    explicit LoggingPlan(Overlap& overlap) : overlap_(overlap) { traits_.reentrant = false; }
    const PlanTraits& traits() const noexcept override { return traits_; }
    void run(const Launch&) const override {
      if (overlap_.running++ > 0) overlap_.seen = true;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
      --overlap_.running;
    }

   private:
    Overlap& overlap_;
    PlanTraits traits_;
  };
  class LoggingBackend final : public Backend {
   public:
    explicit LoggingBackend(Overlap& overlap) : overlap_(overlap) {}
    Versions versions() const override { return {{"portable.gemm", "1"}}; }
    SearchSpace space(const Problem&) override { return SearchSpace::listed({Config::parse("a=1")}); }
    Config untuned(const Problem&) override { return Config::parse("a=1"); }
    std::unique_ptr<Plan> prepare(const Problem&, const Config&, const PrepareContext&) override {
      return std::make_unique<LoggingPlan>(overlap_);
    }

   private:
    Overlap& overlap_;
  };
  Overlap& overlap_;
};

TEST(PlanMaker, APlanThatOneThreadAtATimeMayRunIsRunByOneAtATime) {
  Overlap overlap;
  Registry solvers;
  solvers.add(std::make_unique<SerialSolver>(overlap));
  PlanMaker maker(open_device("fake:0"), solvers, {}, false);
  const auto text = Problem::parse("gemm_a16w16 m=1 n=8 k=8 dtype=fp32");
  const PlanMaker::PlanResult made = maker.make_untuned(op_of(text).normalise(text, maker.device()));
  ASSERT_NE(made.plan, nullptr) << made.why_not;
  EXPECT_TRUE(made.plan->traits().reentrant);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int run = 0; run < 20; ++run) made.plan->run({});
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(overlap.seen);
}

/// A solver whose untuned config has the device's four threads, and one thread for up to 2·8·8 operations.
class ThreadsSolver final : public Solver {
 public:
  explicit ThreadsSolver(bool has_one_thread) : has_one_thread_(has_one_thread) {}
  std::string_view id() const override { return "portable.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "runs on the threads of its config"; }
  Support supports(const Problem&, const DeviceInfo&) const override { return {}; }
  double one_thread_flops() const override { return 2 * 8 * 8; }
  std::unique_ptr<Backend> open(Device&) const override { return std::make_unique<ThreadsBackend>(has_one_thread_); }

 private:
  class EmptyPlan final : public Plan {
   public:
    const PlanTraits& traits() const noexcept override { return traits_; }
    void run(const Launch&) const override {}

   private:
    PlanTraits traits_;
  };
  class ThreadsBackend final : public Backend {
   public:
    explicit ThreadsBackend(bool has_one_thread) : has_one_thread_(has_one_thread) {}
    Versions versions() const override { return {{"portable.gemm", "1+7"}}; }
    SearchSpace space(const Problem&) override { return SearchSpace::listed({untuned({})}); }
    Config untuned(const Problem&) override { return Config::parse("threads=4"); }
    std::unique_ptr<Plan> prepare(const Problem&, const Config& config, const PrepareContext&) override {
      if (config.integer("threads") == 1 && !has_one_thread_) fail(ErrorCode::unavailable, "needs several threads");
      return std::make_unique<EmptyPlan>();
    }

   private:
    bool has_one_thread_;
  };
  bool has_one_thread_;
};

/// Returns the candidate that serves a problem of `m` rows without a row of a table.
std::string serves_untuned(int m, bool has_one_thread) {
  Registry solvers;
  solvers.add(std::make_unique<ThreadsSolver>(has_one_thread));
  PlanMaker maker(open_device("fake:0"), solvers, {}, false);
  const auto text = Problem::parse(fmt::format("gemm_a16w16 m={} n=8 k=8 dtype=fp32", m));
  const PlanMaker::PlanResult made = maker.make_untuned(op_of(text).normalise(text, maker.device()));
  return made.plan == nullptr ? made.why_not : made.untuned;
}

TEST(PlanMaker, ASmallProblemRunsUntunedOnOneThread) {
  EXPECT_EQ(serves_untuned(1, true), "portable.gemm@1+7:threads=1");
  EXPECT_EQ(serves_untuned(2, true), "portable.gemm@1+7:threads=4");
}

TEST(PlanMaker, ASolverThatCannotRunOnOneThreadRunsAsItDoesUntuned) {
  EXPECT_EQ(serves_untuned(1, false), "portable.gemm@1+7:threads=4");
}

}  // namespace
}  // namespace attune
