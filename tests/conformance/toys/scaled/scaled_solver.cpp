// SPDX-License-Identifier: MIT
#include "scaled_solver.h"

#include "scaled_op.h"
#include "tensor/convert.h"

namespace attune::toys {
namespace {

class ScaledPlan final : public Plan {
 public:
  ScaledPlan(const ScaledShape& shape, int64_t block) : shape_(shape), block_(block) {
    traits_.host_bytes = sizeof *this;
    traits_.states = Requirement::batch_invariant;  // Sums of whole numbers have one value, in every order.
  }
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch& launch) const override {
    const auto* a = static_cast<const int8_t*>(launch.operands[0]);
    const auto* b = static_cast<const int8_t*>(launch.operands[1]);
    const auto* a_scale = static_cast<const float*>(launch.operands[2]);
    const auto* b_scale = static_cast<const float*>(launch.operands[3]);
    auto* c = static_cast<uint16_t*>(launch.operands[4]);
    for (int64_t i = 0; i < shape_.m; ++i) {
      for (int64_t j = 0; j < shape_.n; j += block_) {
        for (int64_t l = j; l < std::min(j + block_, shape_.n); ++l)
          c[i * shape_.n + l] =
              to_bf16(static_cast<float>(dot(a + i * shape_.k, b + l * shape_.k)) * a_scale[i] * b_scale[l]);
      }
    }
  }

 private:
  int32_t dot(const int8_t* a, const int8_t* b) const noexcept {
    int32_t sum = 0;
    for (int64_t l = 0; l < shape_.k; ++l) sum += int32_t{a[l]} * b[l];
    return sum;
  }
  ScaledShape shape_;
  int64_t block_;
  PlanTraits traits_;
};

class ScaledBackend final : public StaticSpaceBackend {
 public:
  using StaticSpaceBackend::StaticSpaceBackend;
  Versions versions() const override { return {{"toy_scaled.loops", "1"}}; }
  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
    return std::make_unique<ScaledPlan>(ScaledShape::of(problem), config.integer("block"));
  }
};

}  // namespace

Support ScaledSolver::supports(const Problem& problem, const DeviceInfo& device) const {
  if (problem.op() != "toy_scaled") return Support::no("computes toy_scaled only");
  if (device.kind != "host") return Support::no("runs on a host");
  // The largest sum of int8 products fits int32 up to this K.
  return problem.integer("k") > 130'000 ? Support::no("sums up to 130,000 products") : Support();
}
SearchSpace ScaledSolver::space(const Problem&, const DeviceInfo&) const {
  return SearchSpace::product({{.name = "block", .values = {int64_t{1}, int64_t{4}}}}, {});
}
Config ScaledSolver::untuned(const Problem&, const DeviceInfo&) const { return Config({{"block", int64_t{1}}}); }
std::unique_ptr<Backend> ScaledSolver::open(Device& device) const {
  return std::make_unique<ScaledBackend>(*this, device.info());
}

}  // namespace attune::toys
