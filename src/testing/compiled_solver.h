// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/fake/fake_device.h"
#include "solver/solver.h"
#include "testing/planted_gemm.h"

namespace attune {

/// A solver of a fake device whose configs `us=5`, `us=9` … need a kernel each and take so many µs. The script that
/// compiles one runs in the test's ScriptCompiler, for each problem; one whose script is empty needs no kernel.
class CompiledSolver final : public Solver {
 public:
  using Script = std::function<std::string(const Config&)>;
  /// `times_us`: the first is the default config. `on_prepare` is called when a candidate is prepared.
  CompiledSolver(std::vector<int64_t> times_us, Script script, std::function<void(const Config&)> on_prepare = {})
      : times_us_(std::move(times_us)), script_(std::move(script)), on_prepare_(std::move(on_prepare)) {}

  static Config config_of(int64_t us) { return Config::parse(fmt::format("us={}", us)); }

  std::string_view id() const override { return "onednn.gemm"; }  // the family's first baseline
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "for this test"; }
  Support supports(const Problem&, const DeviceInfo&) const override { return {}; }
  std::vector<CompileTask> compile_tasks(const Problem& problem, const Config& config,
                                         const DeviceInfo&) const override {
    const std::string source = script_(config);
    if (source.empty()) return {};
    return {{"script", source + " # " + problem.key(), "fake", {"--fast"}, {}}};
  }
  std::unique_ptr<Backend> open(Device& device) const override {
    return std::make_unique<CompiledBackend>(*this, dynamic_cast<FakeDevice&>(device));
  }

 private:
  class CompiledBackend final : public Backend {
   public:
    CompiledBackend(const CompiledSolver& solver, FakeDevice& device) : solver_(solver), device_(device) {}
    Versions versions() const override { return {{"onednn.gemm", "1"}}; }
    SearchSpace space(const Problem&) override {
      std::vector<Config> configs;
      for (const int64_t us : solver_.times_us_) configs.push_back(config_of(us));
      return SearchSpace::listed(std::move(configs));
    }
    Config default_config(const Problem&) override { return config_of(solver_.times_us_.front()); }
    std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
      if (solver_.on_prepare_) solver_.on_prepare_(config);
      const auto us = static_cast<double>(config.integer("us"));
      return std::make_unique<PlantedGemm>(GemmShape::of(problem), Fault::none, [this, us] { device_.advance_us(us); });
    }

   private:
    const CompiledSolver& solver_;
    FakeDevice& device_;
  };

  std::vector<int64_t> times_us_;
  Script script_;
  std::function<void(const Config&)> on_prepare_;
};

}  // namespace attune
