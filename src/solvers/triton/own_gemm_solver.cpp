// SPDX-License-Identifier: MIT
// Triton GEMMs of users. A config names the kernel, whose text lies in the state folder.
#include "solvers/triton/own_gemm_solver.h"

#include <array>

#include "base/error.h"
#include "compile/compiler.h"
#include "compile/triton/user_kernel_folder.h"
#include "device/cuda/cuda_device.h"
#include "solvers/triton/gemm_rules.h"
#include "solvers/triton/kernel_backend.h"
#include "solvers/triton/own_gemm.h"
#include "triton/sources_hash.h"

namespace attune {
namespace {

constexpr std::string_view kOwnId = "triton.own_gemm", kOwnVersion = "1";

/// The kernel that a config names. Throws unavailable, naming the folder.
std::shared_ptr<const UserKernel> kernel_of(const Config& config) {
  if (!config.has(triton::kOwnKernel))
    fail(ErrorCode::unavailable, "the config names no kernel of yours: '{}'", config.key());
  StoredKernel stored = stored_user_kernel(to_text(config.at(triton::kOwnKernel)));
  if (!stored.kernel) fail(ErrorCode::unavailable, "{}", stored.why);
  return std::move(stored.kernel);
}

class OwnPlan final : public Plan {
 public:
  OwnPlan(const CudaDevice& device, const GemmShape& shape, triton::OwnLaunch launch, triton::LaunchedKernel kernel)
      : driver_(device.driver()),
        context_(device.context()),
        shape_(shape),
        launch_(std::move(launch)),
        kernel_(std::move(kernel)),
        where_(GemmOperands::of(shape)),
        c_bytes_(static_cast<uint64_t>(shape.m * shape.n) * bits(shape.out) / 8) {
    traits_.workspace_alignment = triton::kWorkspaceAlignment;
    traits_.capturable = true;
    traits_.host_bytes = sizeof *this + 2048;
  }
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch& launch) const override {
    const CurrentContext current(driver_, context_);
    auto* const stream = static_cast<CUstream>(launch.stream);
    std::array<const void*, triton::kMaxArguments> tensors;
    std::array<void*, triton::kMaxArguments> arguments;
    size_t count = 0;
    for (const triton::OwnLaunch::Argument& one : launch_.arguments) {
      if (const auto operand = operand_of(one.role)) {
        tensors[count] = launch.operands[*operand];
        arguments[count] = &tensors[count];
      } else {
        arguments[count] = const_cast<int64_t*>(&one.number);
      }
      ++count;
    }
    if (launch_.zeroes_c)
      driver_.check(
          driver_.cuMemsetD8Async(reinterpret_cast<CUdeviceptr>(launch.operands[where_.c]), 0, c_bytes_, stream),
          "zero the result");
    kernel_.enqueue(launch_.num_programs, launch_.num_programs_y, std::span(arguments).first(count), stream);
  }

 private:
  /// Place of a tensor's operand; nothing for a number.
  std::optional<size_t> operand_of(GemmRole role) const noexcept {
    switch (role) {
      case GemmRole::a:
        return where_.a;
      case GemmRole::b:
        return where_.b;
      case GemmRole::c:
        return where_.c;
      case GemmRole::bias:
        return where_.bias;
      default:
        return std::nullopt;
    }
  }

  const CudaDriver& driver_;
  CUcontext context_;
  GemmShape shape_;
  triton::OwnLaunch launch_;
  triton::LaunchedKernel kernel_;
  GemmOperands where_;
  uint64_t c_bytes_;
  PlanTraits traits_;
};

class OwnBackend final : public triton::KernelBackend {
 public:
  OwnBackend(const StaticSpace& stated, const CudaDevice& device)
      : KernelBackend(std::string(kOwnId), std::string(kOwnVersion), stated, device) {}

  /// Throws unavailable for a kernel that is not stored here.
  std::optional<bool> offers(const Problem& problem, const Config& config) override {
    if (!config.has(triton::kOwnKernel)) return std::nullopt;
    const auto kernel = kernel_of(config);
    return triton::why_not_for(*kernel, GemmShape::of(problem)).empty() && triton::is_config_of(*kernel, config);
  }
  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext& context) override {
    const auto kernel = kernel_of(config);
    require_kernels(context, 1);
    const auto shape = GemmShape::of(problem);
    return std::make_unique<OwnPlan>(gpu_, shape, triton::own_gemm_launch(*kernel, shape, config),
                                     triton::LaunchedKernel(kernels_, context.binaries[0], kernel->function.c_str()));
  }
};

class OwnSolver final : public Solver, public StaticSpace {
 public:
  std::string_view id() const override { return kOwnId; }
  std::string_view version() const override { return kOwnVersion; }
  std::string_view title() const override { return "your own Triton kernels (tune --kernel)"; }

  /// A chosen kernel decides; without one, each that is stored does, because a row may name it.
  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    if (device.kind != "cuda") return Support::no("runs on an NVIDIA GPU only");
    if (Support common = triton::supports_gemm(problem, device); !common.yes) return common;
    const auto shape = GemmShape::of(problem);
    const auto chosen = chosen_user_kernels();
    std::string why;
    for (const std::string& name : chosen) {
      const StoredKernel stored = stored_user_kernel(name);
      if (!stored.kernel) return Support::no(fmt::format("lacks a kernel: {}", stored.why));
      why = triton::why_not_for(*stored.kernel, shape);
    }
    for (const StoredKernel& one : stored_user_kernels()) {
      if (one.kernel && triton::why_not_for(*one.kernel, shape).empty())
        return {true, fmt::format("its kernels lie in the folder '{}'", user_kernel_folder().string())};
    }
    if (why.empty())
      why = fmt::format("no kernel for it lies in the folder '{}', name one with --kernel",
                        user_kernel_folder().string());
    return Support::no("does not serve this problem: " + why);
  }
  const StaticSpace* static_space() const override { return this; }
  Versions kernel_versions() const override { return {{"kernel.triton.own_gemm", std::string(triton::kSourcesHash)}}; }
  SearchSpace space(const Problem& problem, const DeviceInfo& device) const override {
    return triton::own_gemm_space(stored_user_kernels(), chosen_user_kernels(), GemmShape::of(problem), device);
  }
  /// None: a kernel's configs are candidates alike.
  Config default_config(const Problem&, const DeviceInfo&) const override { return {}; }
  std::vector<CompileTask> compile_tasks(const Problem& problem, const Config& config,
                                         const DeviceInfo& device) const override {
    if (config.values().empty()) return {};
    return {triton::own_gemm_task(*kernel_of(config), GemmShape::of(problem), config, device.gfx)};
  }
  std::unique_ptr<Backend> open(Device& device) const override {
    auto* const gpu = dynamic_cast<CudaDevice*>(&device);
    if (gpu == nullptr) fail(ErrorCode::unavailable, "the solver needs an NVIDIA GPU, got '{}'", device.info().id);
    return std::make_unique<OwnBackend>(*this, *gpu);
  }
};

}  // namespace

void register_own_gemm_solver(Registry& registry) {
  registry.add(std::make_unique<OwnSolver>(), [] { CudaDriver::get(); });
}

}  // namespace attune
