// SPDX-License-Identifier: MIT
#include "accelerator_solver.h"

#include <algorithm>
#include <vector>

#include "accelerator_device.h"
#include "base/error.h"
#include "ops/gemm/gemm_op.h"
#include "tensor/convert.h"

namespace attune::toys {
namespace {

constexpr int64_t kFaultyN = 13;
constexpr uint64_t kZeroedBytes = 16;
constexpr int kVerifiedRuns = 3;

class AcceleratorPlan final : public Plan {
 public:
  AcceleratorPlan(const Problem& problem, const Config& config, Accelerator& device)
      : shape_(GemmShape::of(problem)),
        device_(device),
        tile_(config.integer("tile")),
        fault_(config.integer("fault")) {
    for (const TensorSpec& spec : GemmOp().tensors(problem)) bytes_.push_back(spec.bytes());
    traits_.host_bytes = sizeof *this;
    traits_.capturable = true;
    if (tile_ == 4) {
      traits_.workspace_bytes = 256;
      traits_.zeroed_bytes = kZeroedBytes;
    }
  }
  const PlanTraits& traits() const noexcept override { return traits_; }

  void run(const Launch& launch) const override {
    const std::vector<void*> operands(launch.operands.begin(), launch.operands.end());
    const double us = 20.0 / static_cast<double>(tile_);
    device_.enqueue(launch.stream, us,
                    [this, operands, workspace = launch.workspace] { compute(operands, workspace); });
  }

 private:
  void compute(const std::vector<void*>& operands, void* workspace) const {
    const auto where = GemmOperands::of(shape_);
    const auto widened = [&](size_t i, int64_t count) {
      std::vector<float> values(static_cast<size_t>(count));
      to_float(shape_.in, device_.reach(operands[i], bytes_[i]), values);
      return values;
    };
    const auto a = widened(where.a, shape_.m * shape_.k), b = widened(where.b, shape_.n * shape_.k);
    std::vector<float> c(static_cast<size_t>(shape_.m * shape_.n));
    for (int64_t i = 0; i < shape_.m; ++i) {
      for (int64_t j = 0; j < shape_.n; ++j) {
        float sum = used_prefix(workspace);
        for (int64_t k = 0; k < shape_.k; ++k)
          sum += a[static_cast<size_t>(i * shape_.k + k)] * b[static_cast<size_t>(j * shape_.k + k)];
        c[static_cast<size_t>(i * shape_.n + j)] = sum;
      }
    }
    from_float(shape_.out, c, device_.reach(operands[where.c], bytes_[where.c]));
    if (++runs_ <= kVerifiedRuns) return;
    if (fault_ == 1) *device_.reach(operands[where.b], 1) ^= std::byte{1};
    if (fault_ == 2) device_.reach(&runs_, 4);
  }
  /// Counts in the prefix that callers promise to be zero, and leaves it so. Returns 0 unless they broke the promise.
  float used_prefix(void* workspace) const {
    if (traits_.workspace_bytes == 0) return 0;
    const std::byte* prefix = device_.reach(workspace, traits_.workspace_bytes);
    return std::all_of(prefix, prefix + kZeroedBytes, [](std::byte one) { return one == std::byte{0}; }) ? 0.0f : 1e6f;
  }

  GemmShape shape_;
  Accelerator& device_;
  int64_t tile_, fault_;
  std::vector<uint64_t> bytes_;
  PlanTraits traits_;
  mutable int runs_ = 0;
};

class AcceleratorBackend final : public StaticSpaceBackend {
 public:
  AcceleratorBackend(const StaticSpace& stated, Accelerator& device)
      : StaticSpaceBackend(stated, device.info()), device_(device) {}
  Versions versions() const override { return {{"toy_accelerator.gemm", "1"}}; }
  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
    return std::make_unique<AcceleratorPlan>(problem, config, device_);
  }

 private:
  Accelerator& device_;
};

}  // namespace

Support AcceleratorSolver::supports(const Problem& problem, const DeviceInfo& device) const {
  if (device.kind != "toy") return Support::no("runs on the toy accelerator");
  if (problem.op() != "gemm_a16w16") return Support::no("computes gemm_a16w16 only");
  const auto shape = GemmShape::of(problem);
  const bool is_plain = !shape.bias && !shape.trans_a && !shape.b_is_kn && !shape.packed && shape.epilogue.is_none();
  return is_plain ? Support() : Support::no("multiplies plain operands only");
}
SearchSpace AcceleratorSolver::space(const Problem& problem, const DeviceInfo&) const {
  std::vector<Value> faults = {int64_t{0}};
  if (problem.integer("n") == kFaultyN) faults.insert(faults.end(), {int64_t{1}, int64_t{2}});
  return SearchSpace::product({{.name = "tile", .values = {int64_t{1}, int64_t{2}, int64_t{4}}},
                               {.name = "fault", .values = std::move(faults)}},
                              {});
}
Config AcceleratorSolver::untuned(const Problem&, const DeviceInfo&) const {
  return Config({{"tile", int64_t{1}}, {"fault", int64_t{0}}});
}
std::unique_ptr<Backend> AcceleratorSolver::open(Device& device) const {
  auto* own = dynamic_cast<Accelerator*>(&device);
  if (own == nullptr) fail(ErrorCode::unavailable, "the solver needs the toy accelerator, got '{}'", device.info().id);
  return std::make_unique<AcceleratorBackend>(*this, *own);
}

}  // namespace attune::toys
