// SPDX-License-Identifier: MIT
// Kernels that are right until they were timed: none of them is published.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/fake/fake_device.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "solver/registry.h"
#include "testing/planted_gemm.h"
#include "testing/tuner_doubles.h"
#include "tuner/tuner.h"

namespace attune {
namespace {

/// Offers a default, a faster kernel, and an even faster one with a fault.
class LateSolver final : public Solver {
 public:
  explicit LateSolver(Fault fault) : fault_(fault) {}
  std::string_view id() const override { return "onednn.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "wrong afterwards"; }
  Support supports(const Problem&, const DeviceInfo&) const override { return {}; }
  std::unique_ptr<Backend> open(Device& device) const override {
    return std::make_unique<LateBackend>(fault_, dynamic_cast<FakeDevice&>(device));
  }

 private:
  class LateBackend final : public Backend {
   public:
    LateBackend(Fault fault, FakeDevice& device) : fault_(fault), device_(device) {}
    Versions versions() const override { return {{"onednn.gemm", "1"}}; }
    SearchSpace space(const Problem&) override {
      return SearchSpace::listed({Config::parse("us=20"), Config::parse("us=15"), Config::parse("us=10")});
    }
    Config default_config(const Problem&) override { return Config::parse("us=20"); }
    std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
      const int64_t us = config.integer("us");
      return std::make_unique<PlantedGemm>(GemmShape::of(problem), us == 10 ? fault_ : Fault::none,
                                           [this, us] { device_.advance_us(static_cast<double>(us)); });
    }

   private:
    Fault fault_;
    FakeDevice& device_;
  };
  Fault fault_;
};

TuneResult tune(Fault fault, Journal& journal, bool exhaustive = false) {
  FakeDevice device;
  Registry solvers;
  solvers.add(std::make_unique<LateSolver>(fault));
  LocalExecutor executor(device, solvers);
  TestClock clock;
  SilentObserver observer;
  const std::atomic<bool> interrupted = false;
  TunerOptions options;
  options.exhaustive = exhaustive;
  const auto problem = Problem::parse("gemm_a16w16 m=5 n=33 k=8 dtype=fp32");
  return Tuner(executor, journal, options, clock)
      .run({{.problem = op_of(problem).normalise(problem, {})}}, observer, interrupted)
      .front();
}

class RecheckRun : public testing::TestWithParam<Fault> {};

TEST_P(RecheckRun, AKernelThatIsWrongOnceItWasTimedIsNeitherWinnerNorFinalist) {
  for (const bool exhaustive : {false, true}) {
    const auto journal = open_memory_journal();
    const TuneResult result = tune(GetParam(), *journal, exhaustive);
    ASSERT_EQ(result.ending, Ending::decided) << result.reason;
    EXPECT_EQ(result.decision->winner.config.key(), "us=15");
    EXPECT_EQ(result.decision->verdict, Verdict::faster) << "the others are decided without it";
    for (const Finalist& one : result.decision->finalists) EXPECT_NE(one.candidate.config.key(), "us=10");
    ASSERT_EQ(result.failures.size(), 1u);
    EXPECT_EQ(result.failures.front().second.status, Status::wrong_result);
    EXPECT_THAT(result.failures.front().second.detail, testing::HasSubstr("it was right before it was timed"));
    EXPECT_GT(result.time[Activity::recheck].wall_s, 0);
    bool is_recorded = false;
    journal->scan({}, [&](const Entry& entry, const Stamp&) {
      const auto* record = std::get_if<Record>(&entry);
      is_recorded |= record != nullptr && record->candidate.config.key() == "us=10" &&
                     record->outcome.status == Status::wrong_result;
    });
    EXPECT_TRUE(is_recorded);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, RecheckRun,
                         testing::Values(Fault::late, Fault::every_16th, Fault::keyed_by_address, Fault::after_another,
                                         Fault::returns_late),
                         [](const auto& kind) { return std::string(kFaultNames[static_cast<size_t>(kind.param)]); });

TEST(RecheckRun, ARightKernelWins) {
  const auto journal = open_memory_journal();
  const TuneResult result = tune(Fault::none, *journal);
  ASSERT_EQ(result.ending, Ending::decided) << result.reason;
  EXPECT_EQ(result.decision->winner.config.key(), "us=10");
}

}  // namespace
}  // namespace attune
