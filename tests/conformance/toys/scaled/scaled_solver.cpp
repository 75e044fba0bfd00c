// SPDX-License-Identifier: MIT
#include "scaled_solver.h"

#include <algorithm>

#include "scaled_op.h"
#include "tensor/convert.h"

namespace attune::toys {
namespace {

constexpr const char* kReversed = "toy_scaled.reversed@1";

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
          c[i * shape_.n + l] = to_bf16(static_cast<float>(dot(a + i * shape_.k, b + row_of(l) * shape_.k)) *
                                        a_scale[i] * b_scale[row_of(l)]);
      }
    }
  }

 private:
  int64_t row_of(int64_t output) const noexcept { return shape_.packed ? shape_.n - 1 - output : output; }
  int32_t dot(const int8_t* a, const int8_t* b) const noexcept {
    int32_t sum = 0;
    for (int64_t l = 0; l < shape_.k; ++l) sum += int32_t{a[l]} * b[l];
    return sum;
  }
  ScaledShape shape_;
  int64_t block_;
  PlanTraits traits_;
};

class ScaledBackend final : public StaticSpaceBackend, public OpaqueLayouts {
 public:
  using StaticSpaceBackend::StaticSpaceBackend;
  Versions versions() const override { return {{"toy_scaled.loops", "1"}}; }
  OpaqueLayouts* opaque_layouts() override { return this; }
  std::vector<Layout> layouts(const Problem& problem) override {
    return ScaledShape::of(problem).packed ? std::vector<Layout>{{kReversed}} : std::vector<Layout>();
  }
  std::vector<uint64_t> packed_offsets(const Layout&, const Problem& problem) const override {
    const auto shape = ScaledShape::of(problem);
    return {0, static_cast<uint64_t>((shape.n * shape.k + 63) / 64 * 64)};
  }
  uint64_t packed_bytes(const Layout& layout, const Problem& problem) const override {
    return packed_offsets(layout, problem).back() + static_cast<uint64_t>(ScaledShape::of(problem).n) * sizeof(float);
  }
  void pack(const Layout& layout, const Problem& problem, PlainOperands plain, Buffer packed) const override {
    const auto shape = ScaledShape::of(problem);
    const auto* b = static_cast<const int8_t*>(plain[0].data);
    const auto* scales = static_cast<const float*>(plain[1].data);
    auto* to = static_cast<int8_t*>(packed.data);
    auto* to_scales = reinterpret_cast<float*>(to + packed_offsets(layout, problem).back());
    for (int64_t j = 0; j < shape.n; ++j) {
      std::copy_n(b + j * shape.k, shape.k, to + (shape.n - 1 - j) * shape.k);
      to_scales[shape.n - 1 - j] = scales[j];
    }
  }
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
SearchSpace ScaledSolver::space(const Problem& problem, const DeviceInfo&) const {
  std::vector<Parameter> parameters;
  if (ScaledShape::of(problem).packed) parameters.push_back({.name = "b_layout", .values = {std::string(kReversed)}});
  parameters.push_back({.name = "block", .values = {int64_t{1}, int64_t{4}}});
  return SearchSpace::product(std::move(parameters), {});
}
Config ScaledSolver::default_config(const Problem& problem, const DeviceInfo& device) const {
  return space(problem, device).at(0);
}
std::unique_ptr<Backend> ScaledSolver::open(Device& device) const {
  return std::make_unique<ScaledBackend>(*this, device.info());
}

}  // namespace attune::toys
