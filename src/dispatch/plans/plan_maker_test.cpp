// SPDX-License-Identifier: MIT
#include "dispatch/plans/plan_maker.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "device/devices.h"
#include "ops/op.h"
#include "tensor/all_cores.h"
#include "testing/environment.h"
#include "testing/split_rows_solver.h"

namespace attune {

void register_fake_solver(Registry& registry);

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
    Config default_config(const Problem&) override { return Config::parse("a=1"); }
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
  const PlanMaker::PlanResult made = maker.make_default(op_of(text).normalise(text, maker.device()));
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

/// A solver whose default config has the device's four threads, and one thread for up to 2·8·8 operations.
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
    SearchSpace space(const Problem&) override { return SearchSpace::listed({default_config({})}); }
    Config default_config(const Problem&) override { return Config::parse("threads=4"); }
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
std::string serves_default(int m, bool has_one_thread) {
  Registry solvers;
  solvers.add(std::make_unique<ThreadsSolver>(has_one_thread));
  PlanMaker maker(open_device("fake:0"), solvers, {}, false);
  const auto text = Problem::parse(fmt::format("gemm_a16w16 m={} n=8 k=8 dtype=fp32", m));
  const PlanMaker::PlanResult made = maker.make_default(op_of(text).normalise(text, maker.device()));
  return made.plan == nullptr ? made.why_not : made.default_config;
}

TEST(PlanMaker, ASmallProblemRunsItsDefaultConfigOnOneThread) {
  EXPECT_EQ(serves_default(1, true), "portable.gemm@1+7:threads=1");
  EXPECT_EQ(serves_default(2, true), "portable.gemm@1+7:threads=4");
}

TEST(PlanMaker, ASolverThatCannotRunOnOneThreadRunsItsDefaultConfig) {
  EXPECT_EQ(serves_default(1, false), "portable.gemm@1+7:threads=4");
}

/// A solver that lists its one candidate on all cores, as cuBLASLt does.
class ListingSolver final : public Solver {
 public:
  explicit ListingSolver(std::atomic<int>& num_threads) : num_threads_(num_threads) {}
  std::string_view id() const override { return "portable.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "lists on all cores"; }
  Support supports(const Problem&, const DeviceInfo&) const override { return {}; }
  std::unique_ptr<Backend> open(Device&) const override { return std::make_unique<ListingBackend>(num_threads_); }

 private:
  class ListingBackend final : public Backend {
   public:
    explicit ListingBackend(std::atomic<int>& num_threads) : num_threads_(num_threads) {}
    Versions versions() const override { return {{"portable.gemm", "1"}}; }
    SearchSpace space(const Problem& problem) override {
      num_threads_ = 0;
      over_all_cores(
          1000, 1000, [&](int64_t, int64_t) { ++num_threads_; }, [] { return false; });
      return SearchSpace::listed({default_config(problem)});
    }
    Config default_config(const Problem&) override { return Config::parse("a=1"); }
    std::unique_ptr<Plan> prepare(const Problem&, const Config&, const PrepareContext&) override { return nullptr; }

   private:
    std::atomic<int>& num_threads_;
  };
  std::atomic<int>& num_threads_;
};

TEST(PlanMaker, CandidatesAreListedOnTheThreadsThatTheApplicationAllows) {
  std::atomic<int> num_threads = 0;
  Registry solvers;
  solvers.add(std::make_unique<ListingSolver>(num_threads));
  const auto threads_of_a_list = [&](int64_t limit) {
    PlanMaker maker(open_device("fake:0"), solvers, {}, false);
    if (limit > 0) maker.limit_threads(limit);
    const auto text = Problem::parse("gemm_a16w16 m=1 n=8 k=8 dtype=fp32");
    maker.contender(op_of(text).normalise(text, maker.device()), *solvers.find("portable.gemm"));
    return num_threads.load();
  };
  constexpr const char* kVariables[] = {"ATTUNE_THREADS", "OMP_NUM_THREADS", "OMP_THREAD_LIMIT"};
  const TestEnvironment none(kVariables);
  const int all = threads_of_a_list(0);
  EXPECT_EQ(all, thread_limit({}));
  EXPECT_EQ(threads_of_a_list(1), 1);
  EXPECT_EQ(threads_of_a_list(1000), all);
  const TestEnvironment stated("OMP_NUM_THREADS", "1");
  EXPECT_EQ(threads_of_a_list(0), 1);
}

/// The product of a candidate of the fake device, on operands of small whole numbers.
std::vector<float> product(PlanMaker& maker, const Problem& problem, const std::string& candidate) {
  const auto made = maker.make(problem, candidate);
  EXPECT_NE(made.plan, nullptr) << made.why_not;
  std::vector<float> a(8 * 16), b(8 * 16), c(8 * 8);
  for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7), b[i] = static_cast<float>(i % 5);
  const std::array<void*, 3> operands = {a.data(), b.data(), c.data()};
  if (made.plan) made.plan->run({operands, nullptr, nullptr});
  return c;
}

TEST(PlanMaker, AnyVersionIsTheOneThatIsHereAndNoConfigTheDefault) {
  Registry solvers;
  register_fake_solver(solvers);
  PlanMaker maker(open_device("fake:0"), solvers, {}, false);
  const auto text = Problem::parse("gemm_a16w16 m=8 n=8 k=16 dtype=fp32");
  const Problem problem = op_of(text).normalise(text, maker.device());
  EXPECT_NE(maker.make(problem, "fake.gemm@any:").plan, nullptr);
  EXPECT_EQ(maker.who_serves(problem, "fake.gemm@any:", ""), "fake.gemm");
  EXPECT_NE(maker.make(problem, "fake.gemm@any:split_k=1;tile_m=64;tile_n=64").plan, nullptr);
  EXPECT_EQ(maker.make(problem, "fake.gemm@any:split_k=1;tile_m=63;tile_n=64").plan, nullptr);
  EXPECT_THAT(maker.make(problem, "other.gemm@any:").why_not, testing::HasSubstr("no solver of that name"));
}

TEST(PlanMaker, ANameRebuildsACompositeWithItsParts) {
  const std::string part = "fake.gemm@1:split_k=1;tile_m=64;tile_n=64";
  Registry solvers;
  register_fake_solver(solvers);
  solvers.add(std::make_unique<SplitRowsSolver>(Candidate::parse(part)));
  PlanMaker maker(open_device("fake:0"), solvers, {}, false);
  const auto text = Problem::parse("gemm_a16w16 m=8 n=8 k=16 dtype=fp32");
  const Problem problem = op_of(text).normalise(text, maker.device());
  const std::string nested = Candidate::parse(part).nested_name();
  const std::string other = "fake.gemm@1:[split_k=2;tile_m=16;tile_n=32]";
  EXPECT_EQ(product(maker, problem, "split_rows.gemm@1:lower=" + other + ";order=up;upper=" + nested),
            product(maker, problem, part));
  const auto wrong = maker.make(
      problem, "split_rows.gemm@1:lower=fake.gemm@1:[split_k=1;tile_m=63;tile_n=64];order=up;upper=" + nested);
  EXPECT_EQ(wrong.plan, nullptr);
  EXPECT_THAT(wrong.why_not, testing::HasSubstr("fake.gemm@1:split_k=1;tile_m=63;tile_n=64"));
}

}  // namespace
}  // namespace attune
