// SPDX-License-Identifier: MIT
#include "accelerator_solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "accelerator_device.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "ops/gemm/gemm_op.h"
#include "tensor/convert.h"

namespace attune::toys {
namespace {

constexpr int64_t kFaultyN = 13;
constexpr uint64_t kZeroedBytes = 16;
constexpr std::byte kMark{1};
constexpr int kVerifiedRuns = 3, kAdmissionRuns = 10;

class AcceleratorPlan final : public Plan {
 public:
  AcceleratorPlan(const Problem& problem, int64_t tile, int64_t fault, Accelerator& device)
      : shape_(GemmShape::of(problem)), device_(device), tile_(tile), fault_(fault) {
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
    double us = 20.0 / static_cast<double>(tile_);
    if (traits_.workspace_bytes > 0) {
      us /= 2;
      device_.enqueue(launch.stream, us, [this, workspace = launch.workspace] { begin_in(workspace); });
    }
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
    const float disturbed = used_prefix(workspace);
    std::vector<float> c(static_cast<size_t>(shape_.m * shape_.n));
    for (int64_t i = 0; i < shape_.m; ++i) {
      for (int64_t j = 0; j < shape_.n; ++j) {
        float sum = disturbed;
        for (int64_t k = 0; k < shape_.k; ++k)
          sum += a[static_cast<size_t>(i * shape_.k + k)] * b[static_cast<size_t>(j * shape_.k + k)];
        c[static_cast<size_t>(i * shape_.n + j)] = sum;
      }
    }
    from_float(shape_.out, c, device_.reach(operands[where.c], bytes_[where.c]));
    if (++runs_ <= kVerifiedRuns) return;
    if (fault_ == 1 || (fault_ == 3 && runs_ > kAdmissionRuns)) *device_.reach(operands[where.b], 1) ^= std::byte{1};
    if (fault_ == 2) device_.reach(&runs_, 4);
  }
  /// Marks the prefix, which callers promise to be zero, unless they broke the promise; the second kernel, which
  /// launches on other workspaces must not disturb, looks for the mark.
  void begin_in(void* workspace) const {
    std::byte* prefix = device_.reach(workspace, traits_.workspace_bytes);
    if (std::all_of(prefix, prefix + kZeroedBytes, [](std::byte one) { return one == std::byte{0}; }))
      prefix[0] = kMark;
  }
  /// Clears the mark. Returns 0 if it was there.
  float used_prefix(void* workspace) const {
    if (traits_.workspace_bytes == 0) return 0;
    std::byte* prefix = device_.reach(workspace, traits_.workspace_bytes);
    return std::exchange(prefix[0], std::byte{0}) == kMark ? 0.0f : 1e6f;
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
    return std::make_unique<AcceleratorPlan>(problem, config.integer("tile"), config.integer("fault"), device_);
  }

 private:
  Accelerator& device_;
};

class AssembledBackend final : public StaticSpaceBackend {
 public:
  AssembledBackend(const StaticSpace& stated, Accelerator& device)
      : StaticSpaceBackend(stated, device.info()), device_(device) {}
  Versions versions() const override { return {{"toy_assembled.gemm", "1"}, {"compiler.toyas", "toyas-1"}}; }
  std::unique_ptr<Plan> prepare(const Problem& problem, const Config&, const PrepareContext& context) override {
    if (context.binaries.size() != 1) fail(ErrorCode::unavailable, "the kernel must be compiled first");
    const std::string kernel = read_file(context.binaries.front().file);
    const auto tile = parse_int(std::string_view(kernel).substr(kernel.find(' ') + 1));
    if (!tile) fail(ErrorCode::invalid_input, "not a kernel of the toy accelerator: '{}'", kernel);
    return std::make_unique<AcceleratorPlan>(problem, *tile, 0, device_);
  }

 private:
  Accelerator& device_;
};

Accelerator& accelerator_of(Device& device) {
  auto* own = dynamic_cast<Accelerator*>(&device);
  if (own == nullptr) fail(ErrorCode::unavailable, "the solver needs the toy accelerator, got '{}'", device.info().id);
  return *own;
}

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
  if (problem.integer("n") == kFaultyN) faults.insert(faults.end(), {int64_t{1}, int64_t{2}, int64_t{3}});
  return SearchSpace::product({{.name = "tile", .values = {int64_t{1}, int64_t{2}, int64_t{4}}},
                               {.name = "fault", .values = std::move(faults)}},
                              {});
}
Config AcceleratorSolver::default_config(const Problem&, const DeviceInfo&) const {
  return Config({{"tile", int64_t{1}}, {"fault", int64_t{0}}});
}
std::unique_ptr<Backend> AcceleratorSolver::open(Device& device) const {
  return std::make_unique<AcceleratorBackend>(*this, accelerator_of(device));
}

Support AssembledSolver::supports(const Problem& problem, const DeviceInfo& device) const {
  const Support plain = AcceleratorSolver().supports(problem, device);
  if (!plain.yes) return plain;
  return problem.dtype("dtype") == DType::fp16 ? Support() : Support::no("multiplies fp16 only");
}
SearchSpace AssembledSolver::space(const Problem&, const DeviceInfo&) const {
  return SearchSpace::product({{.name = "tile", .values = {int64_t{2}, int64_t{8}, int64_t{12}}}}, {});
}
Config AssembledSolver::default_config(const Problem&, const DeviceInfo&) const {
  return Config({{"tile", int64_t{2}}});
}
std::vector<CompileTask> AssembledSolver::compile_tasks(const Problem&, const Config& config,
                                                        const DeviceInfo& device) const {
  return {{.compiler = "toyas",
           .source = fmt::format("tile {}", config.integer("tile")),
           .arch = device.gfx,
           .options = {},
           .entries = {"kernel"}}};
}
std::unique_ptr<Backend> AssembledSolver::open(Device& device) const {
  return std::make_unique<AssembledBackend>(*this, accelerator_of(device));
}

}  // namespace attune::toys
