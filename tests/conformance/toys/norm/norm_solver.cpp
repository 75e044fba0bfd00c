// SPDX-License-Identifier: MIT
#include "norm_solver.h"

#include <array>
#include <cmath>

#include "norm_op.h"

namespace attune::toys {
namespace {

constexpr int64_t kLanes = 16;

class NormPlan final : public Plan {
 public:
  NormPlan(const NormShape& shape, int64_t lanes) : shape_(shape), lanes_(lanes) {
    traits_.host_bytes = sizeof *this;
    traits_.states = Requirement::batch_invariant;  // A row is computed by itself, in one order.
  }
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch& launch) const override {
    const auto* x = static_cast<const float*>(launch.operands[0]);
    const auto* w = static_cast<const float*>(launch.operands[1]);
    auto* y = static_cast<float*>(launch.operands[2]);
    for (int64_t i = 0; i < shape_.token; ++i, x += shape_.dim, y += shape_.dim) {
      std::array<float, kLanes> sums{};
      for (int64_t j = 0; j < shape_.dim; ++j) sums[static_cast<size_t>(j % lanes_)] += x[j] * x[j];
      float squares = 0;
      for (const float sum : sums) squares += sum;
      const float factor = 1 / std::sqrt(squares / static_cast<float>(shape_.dim) + static_cast<float>(kNormEpsilon));
      for (int64_t j = 0; j < shape_.dim; ++j) y[j] = w[j] * x[j] * factor;
    }
  }

 private:
  NormShape shape_;
  int64_t lanes_;
  PlanTraits traits_;
};

class NormBackend final : public StaticSpaceBackend {
 public:
  using StaticSpaceBackend::StaticSpaceBackend;
  Versions versions() const override { return {{"toy_norm.loops", "1"}}; }
  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
    return std::make_unique<NormPlan>(NormShape::of(problem), config.integer("lanes"));
  }
};

}  // namespace

Support NormSolver::supports(const Problem& problem, const DeviceInfo& device) const {
  if (problem.op() != "toy_norm") return Support::no("computes toy_norm only");
  return device.kind == "host" ? Support() : Support::no("runs on a host");
}
SearchSpace NormSolver::space(const Problem&, const DeviceInfo&) const {
  return SearchSpace::product({{.name = "lanes", .values = {int64_t{1}, kLanes}}}, {});
}
Config NormSolver::default_config(const Problem&, const DeviceInfo&) const { return Config({{"lanes", int64_t{1}}}); }
std::unique_ptr<Backend> NormSolver::open(Device& device) const {
  return std::make_unique<NormBackend>(*this, device.info());
}

}  // namespace attune::toys
