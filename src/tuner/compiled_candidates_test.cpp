// SPDX-License-Identifier: MIT
// Candidates with compiled kernels: what their compiler reported stands in the journal.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "device/fake/fake_device.h"
#include "measure/local_executor.h"
#include "ops/op.h"
#include "process/temporary_folder.h"
#include "solver/registry.h"
#include "testing/planted_gemm.h"
#include "testing/script_compiler.h"
#include "testing/tuner_doubles.h"
#include "tuner/kernels.h"
#include "tuner/tuner.h"

namespace attune {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::Pair;

/// Each config has a kernel of its own, whose compiler reports as many registers as a run takes µs.
class ReportedSolver final : public Solver {
 public:
  std::string_view id() const override { return "onednn.gemm"; }  // the family's first baseline
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "for this test"; }
  Support supports(const Problem&, const DeviceInfo&) const override { return {}; }
  std::vector<CompileTask> compile_tasks(const Problem&, const Config& config, const DeviceInfo&) const override {
    return {{"script",
             fmt::format("echo registers={}; printf {} >out", config.integer("us"), config.key()),
             "fake",
             {"--fast"},
             {}}};
  }
  std::unique_ptr<Backend> open(Device& device) const override {
    return std::make_unique<ReportedBackend>(dynamic_cast<FakeDevice&>(device));
  }

 private:
  class ReportedBackend final : public Backend {
   public:
    explicit ReportedBackend(FakeDevice& device) : device_(device) {}
    Versions versions() const override { return {{"onednn.gemm", "1"}}; }
    SearchSpace space(const Problem&) override {
      return SearchSpace::listed({Config::parse("us=5"), Config::parse("us=9")});
    }
    Config untuned(const Problem&) override { return Config::parse("us=9"); }
    std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
      const auto us = static_cast<double>(config.integer("us"));
      return std::make_unique<PlantedGemm>(GemmShape::of(problem), Fault::none, [this, us] { device_.advance_us(us); });
    }

   private:
    FakeDevice& device_;
  };
};

TEST(TunerOfCompiledCandidates, KeepsWhatTheCompilerReportedOfEachInTheJournal) {
  FakeDevice device;
  Registry solvers;
  solvers.add(std::make_unique<ReportedSolver>());
  const ScriptCompiler compiler;
  const TemporaryFolder folder("compiled-candidates-test");
  Kernels kernels(solvers, device.info(), folder.path() / "cache", {.compilers = {&compiler}});
  LocalExecutor executor(device, solvers);
  const auto journal = open_memory_journal();
  TestClock clock;
  SilentObserver observer;
  const auto text = Problem::parse("gemm_a16w16 m=16 n=48 k=32 dtype=fp32");
  const Problem problem = op_of(text).normalise(text, device.info());
  const auto result = Tuner(executor, *journal, {}, clock, &kernels).run({{.problem = problem}}, observer, false);
  ASSERT_TRUE(result.front().decision) << result.front().reason;

  const auto is_report_of = [](const Candidate& candidate) {
    const std::string registers = std::to_string(candidate.config.integer("us"));
    return ElementsAre(
        AllOf(Contains(Pair("registers", registers)), testing::Not(Contains(Pair("options", "--fast")))));
  };
  std::map<Stage, size_t> num_records;
  journal->scan({.problem = problem}, [&](const Entry& entry, const Stamp&) {
    const auto* record = std::get_if<Record>(&entry);
    if (record == nullptr) return;
    ++num_records[record->stage];
    EXPECT_THAT(record->metadata, is_report_of(record->candidate)) << record->candidate.name();
  });
  EXPECT_EQ(num_records[Stage::verify], 2u);
  EXPECT_GE(num_records[Stage::final], 1u);
  for (const Finalist& finalist : result.front().decision->finalists)
    EXPECT_THAT(finalist.metadata, is_report_of(finalist.candidate)) << finalist.candidate.name();
}

}  // namespace
}  // namespace attune
