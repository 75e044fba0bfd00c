// SPDX-License-Identifier: MIT
// A default config that the race dropped, although it was as fast as the winner was there, competes again.
#include <gtest/gtest.h>

#include <algorithm>

#include "device/fake/fake_device.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "solver/registry.h"
#include "testing/planted_gemm.h"
#include "testing/tuner_doubles.h"
#include "tuner/tuner.h"

namespace attune {
namespace {

/// Kernels that take one time during the race and another one afterwards: `us` and `then`. The first is the default
/// config.
class ChangingSolver final : public Solver {
 public:
  ChangingSolver(std::string id, std::vector<std::string> rows, const Phase& phase)
      : id_(std::move(id)), rows_(std::move(rows)), phase_(phase) {}
  std::string_view id() const override { return id_; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "changes its times"; }
  Support supports(const Problem&, const DeviceInfo&) const override { return {}; }
  std::unique_ptr<Backend> open(Device& device) const override {
    return std::make_unique<ChangingBackend>(*this, dynamic_cast<FakeDevice&>(device));
  }

 private:
  class ChangingBackend final : public Backend {
   public:
    ChangingBackend(const ChangingSolver& solver, FakeDevice& device) : solver_(solver), device_(device) {}
    Versions versions() const override { return {{solver_.id_, "1+1"}}; }
    SearchSpace space(const Problem&) override {
      std::vector<Config> configs;
      for (const auto& row : solver_.rows_) configs.push_back(Config::parse(row));
      return SearchSpace::listed(std::move(configs));
    }
    Config default_config(const Problem&) override { return Config::parse(solver_.rows_.front()); }
    std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
      return std::make_unique<PlantedGemm>(GemmShape::of(problem), Fault::none, [this, config] {
        device_.advance_us(static_cast<double>(config.integer(solver_.phase_ == Phase::race ? "us" : "then")));
      });
    }

   private:
    const ChangingSolver& solver_;
    FakeDevice& device_;
  };
  std::string id_;
  std::vector<std::string> rows_;
  const Phase& phase_;
};

class PhaseObserver final : public TuneObserver {
 public:
  void progress(const Problem&, Phase now, size_t) override { phase = now; }
  void finished(const TuneResult&) override {}
  Phase phase = Phase::race;
};

TEST(ComeBack, NothingIsCalledFasterThanADefaultConfigThatItDidNotBeat) {
  PhaseObserver observer;
  FakeDevice device;
  Registry solvers;
  // In the race us=40 drives us=50 out, which is another library's default config. The row's kernel, us=52, stays.
  solvers.add(std::make_unique<ChangingSolver>(
      "onednn.gemm", std::vector<std::string>{"then=100;us=100", "then=90;us=40", "then=30;us=52"}, observer.phase));
  solvers.add(
      std::make_unique<ChangingSolver>("openblas.gemm", std::vector<std::string>{"then=50;us=50"}, observer.phase));
  LocalExecutor executor(device, solvers);
  const auto journal = open_memory_journal();
  TestClock clock;
  const std::atomic<bool> interrupted = false;
  const auto problem = Problem::parse("gemm_a16w16 m=5 n=33 k=8 dtype=fp32");
  WorkItem item{.problem = op_of(problem).normalise(problem, {})};
  item.incumbent = Incumbent{{"onednn.gemm", "1+1", Config::parse("then=30;us=52")}, 52, "row"};
  const TuneResult result = Tuner(executor, *journal, {}, clock).run({item}, observer, interrupted).front();
  ASSERT_EQ(result.ending, Ending::decided) << result.reason;
  const Decision& decision = *result.decision;
  std::string all;
  for (const Finalist& one : decision.finalists) all += one.candidate.name() + " ";
  for (const auto& [one, outcome] : result.failures) all += one.name() + ": " + outcome.detail + " ";
  SCOPED_TRACE(all + std::to_string(result.num_candidates));
  EXPECT_EQ(decision.winner.config.key(), "then=30;us=52");
  EXPECT_EQ(decision.verdict, Verdict::faster);
  ASSERT_TRUE(decision.best_default);
  EXPECT_EQ(decision.best_default->candidate.solver, "openblas.gemm");
  EXPECT_FALSE(decision.best_default->screened) << "they met in the finals";
  EXPECT_NEAR(decision.best_default->ratio, 50.0 / 30, 0.01);
}

}  // namespace
}  // namespace attune
