// SPDX-License-Identifier: MIT
#include "tuner/weight_configs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "device/fake/fake_device.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "solver/registry.h"

namespace attune {
namespace {

/// An executor in this process that counts its requests.
class CountingExecutor final : public Executor {
 public:
  const DeviceInfo& device() const override { return inner_.device(); }
  void begin(Request request) override {
    ++num_requests;
    inner_.begin(std::move(request));
  }
  int descriptor() const override { return inner_.descriptor(); }
  std::optional<Answer> take() override { return inner_.take(); }
  void close(ProblemId id) override { inner_.close(id); }
  void drop(Slot slot) override { inner_.drop(slot); }
  void abort() override { inner_.abort(); }

  size_t num_requests = 0;

 private:
  FakeDevice device_;
  LocalExecutor inner_{device_, registry()};
};

/// Interrupts the run at its first tick.
class EarlyInterrupt final : public TuneObserver {
 public:
  void progress(const Problem&, Phase, size_t) override {}
  void finished(const TuneResult&) override {}
  void tick() override { interrupted = true; }
  std::atomic<bool> interrupted = false;
};

TEST(WeightConfigs, AnInterruptEndsTheOpeningOfTheRows) {
  std::vector<TuneResult> results;
  for (int m = 1; m <= 3; ++m) {
    const auto problem = Problem::parse(fmt::format("gemm_a16w16 m={} n=16 k=16 dtype=fp32", m));
    TuneResult& result = results.emplace_back();
    result.problem = op_of(problem).normalise(problem, {});
    result.ending = Ending::decided;
    result.decision.emplace();
    result.decision->winner = Candidate::parse(fmt::format("fake.gemm@1:split_k={}", m));
  }
  CountingExecutor executor;
  const auto journal = open_memory_journal();
  EarlyInterrupt observer;
  WeightConfigs weights({{executor, *journal, nullptr, {}}}, {}, {}, observer);
  weights.settle(results, observer.interrupted);
  EXPECT_EQ(executor.num_requests, 1u);
  for (const TuneResult& result : results) {
    EXPECT_FALSE(result.decision);
    EXPECT_EQ(result.reason, "interrupted before its weight had one config");
  }
}

}  // namespace
}  // namespace attune
