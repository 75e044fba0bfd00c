// SPDX-License-Identifier: MIT
#include "dispatch/plans/plan_maker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

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

}  // namespace
}  // namespace attune
