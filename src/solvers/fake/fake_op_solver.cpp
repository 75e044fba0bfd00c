// SPDX-License-Identifier: MIT
// Any op of this build on the fake device: its reference is the kernel.
#include <cmath>

#include "ops/packed_weights.h"
#include "solvers/fake/fake_backend.h"
#include "tensor/convert.h"

namespace attune {
namespace {

/// Rounds a reference to a type.
void store(DType dtype, std::span<const double> values, std::byte* stored) {
  std::vector<float> rounded(values.size());
  for (size_t i = 0; i < values.size(); ++i) rounded[i] = static_cast<float>(values[i]);
  from_float(dtype, rounded, stored);
}

constexpr size_t kOfASpec = 128;  // Its role, shape and layout in memory of their own.

class ReferencePlan final : public Plan {
 public:
  ReferencePlan(const Op& op, const Problem& problem, double us, FakeDevice& device, Requirement states)
      : op_(op), problem_(problem), specs_(op.tensors(problem)), us_(us), device_(device) {
    traits_.reentrant = false;
    traits_.capturable = true;
    traits_.states = states;
    traits_.host_bytes = sizeof *this + problem.attributes().size() * sizeof problem.attributes().front() +
                         specs_.size() * (sizeof(TensorSpec) + kOfASpec);
  }
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch& launch) const override {
    device_.enqueue(launch.stream, us_, [this, operands = FakeMemory::reach(launch.operands)] { compute(operands); });
  }

 private:
  void compute(std::span<void* const> operands) const {
    HostTensors tensors;
    for (size_t i = 0; i < specs_.size(); ++i)
      tensors.operands.emplace_back(static_cast<std::byte*>(operands[i]), specs_[i].bytes());
    const Reference reference = whole_reference(op_, problem_, Path::fast, tensors);
    store(specs_.back().dtype, reference.values, tensors.operands.back().data());
  }

  const Op& op_;
  Problem problem_;
  std::vector<TensorSpec> specs_;
  double us_;
  FakeDevice& device_;
  PlanTraits traits_;
};

class FakeOpBackend final : public FakeBackend {
 public:
  using FakeBackend::FakeBackend;

 private:
  Requirement stated(const Config&) const override { return Requirement::batch_invariant; }
  std::unique_ptr<Plan> healthy_plan(const Problem& problem, const Config& config, double luck,
                                     Requirement states) const override {
    const Work work = op().work(problem);
    const double ideal = device().roofline_us(work.flops, work.bytes, work.arithmetic);
    const double penalty = 1 + 0.12 * tile_waste(config.integer("tile"), op().output_rows(problem)) +
                           0.05 * std::abs(std::log2(static_cast<double>(config.integer("unroll")) / 2));
    return std::make_unique<ReferencePlan>(op(), problem, (2.0 + ideal * 1.2 * penalty) * luck, device(), states);
  }
};

class FakeOpSolver final : public Solver, public StaticSpace {
 public:
  explicit FakeOpSolver(const Op& op) : op_(op), id_("fake." + std::string(op.name())) {}
  std::string_view id() const override { return id_; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "a made-up kernel with planted times, on the fake device only"; }
  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    if (device.kind != "fake") return Support::no("runs on the fake device only");
    if (problem.op() != op_.name()) return Support::no("computes " + std::string(op_.name()) + " only");
    if (has_packed_weights(problem)) return Support::no("takes plain weights only");
    return {};
  }
  const StaticSpace* static_space() const override { return this; }
  SearchSpace space(const Problem&, const DeviceInfo&) const override {
    return SearchSpace::product({{.name = "tile", .values = {int64_t{16}, int64_t{32}, int64_t{64}, int64_t{128}}},
                                 {.name = "unroll", .values = {int64_t{1}, int64_t{2}, int64_t{4}}}},
                                {});
  }
  SearchSpace invariant_space(const Problem& problem, const DeviceInfo& device) const override {
    return space(problem, device);
  }
  Config default_config(const Problem&, const DeviceInfo&) const override {
    return Config({{"tile", int64_t{64}}, {"unroll", int64_t{1}}});
  }
  std::unique_ptr<Backend> open(Device& device) const override {
    return std::make_unique<FakeOpBackend>(*this, fake_device(device), op_, id_);
  }

 private:
  const Op& op_;
  std::string id_;
};

}  // namespace

std::unique_ptr<Solver> make_fake_op_solver(const Op& op) { return std::make_unique<FakeOpSolver>(op); }

}  // namespace attune
