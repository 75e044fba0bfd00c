// SPDX-License-Identifier: MIT
// Triton kernels, compiled for the GPU's architecture by the Python package. M, N and K are arguments, so that one
// binary serves many shapes of its types.
#include <array>

#include "base/error.h"
#include "compile/compiler.h"
#include "device/cuda/cuda_device.h"
#include "solver/registry.h"
#include "solvers/triton/gemm_rules.h"
#include "solvers/triton/gemm_space.h"
#include "solvers/triton/generated_script.h"
#include "solvers/triton/kernel_backend.h"
#include "solvers/triton/kernel_tasks.h"
#include "solvers/triton/launched_kernel.h"
#include "solvers/triton/own_gemm_solver.h"
#include "triton/sources_hash.h"

namespace attune {
namespace {

using triton::Division;

constexpr std::string_view kTritonId = "triton.gemm", kTritonVersion = "1";

class TritonPlan final : public Plan {
 public:
  TritonPlan(const CudaDevice& device, const GemmShape& shape, const triton::GemmConfig& config,
             triton::LaunchedKernel product, std::optional<triton::LaunchedKernel> sum)
      : driver_(device.driver()),
        context_(device.context()),
        shape_(shape),
        division_(shape, config),
        group_m_(static_cast<int32_t>(config.group_m)),
        product_(std::move(product)),
        sum_(std::move(sum)),
        where_(GemmOperands::of(shape)) {
    if (sum_) traits_.workspace_bytes = static_cast<uint64_t>(division_.num_parts * shape.m * shape.n) * sizeof(float);
    traits_.workspace_alignment = triton::kWorkspaceAlignment;
    traits_.capturable = true;
    traits_.states = Requirement::deterministic;
    traits_.host_bytes = sizeof *this + 1024;
  }
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch& launch) const override {
    const CurrentContext current(driver_, context_);
    auto* const stream = static_cast<CUstream>(launch.stream);
    const void* a = launch.operands[where_.a];
    const void* b = launch.operands[where_.b];
    const void* bias = shape_.bias ? launch.operands[where_.bias] : nullptr;
    void* c = launch.operands[where_.c];
    void* sums = launch.workspace;
    auto m = static_cast<int32_t>(shape_.m), n = static_cast<int32_t>(shape_.n), k = static_cast<int32_t>(shape_.k);
    auto k_of_part = static_cast<int32_t>(division_.part_length);
    int32_t group = group_m_;
    product_.enqueue(division_.num_tiles * division_.num_parts, 1,
                     std::array<void*, 9>{&a, &b, &bias, sum_ ? &sums : &c, &m, &n, &k, &k_of_part, &group}, stream);
    if (!sum_) return;
    int64_t elements = shape_.m * shape_.n;
    auto parts = static_cast<int32_t>(division_.num_parts);
    sum_->enqueue(triton::num_pieces(elements, triton::kSumBlock), 1,
                  std::array<void*, 6>{&sums, &bias, &c, &elements, &n, &parts}, stream);
  }

 private:
  const CudaDriver& driver_;
  CUcontext context_;
  GemmShape shape_;
  Division division_;
  int32_t group_m_;
  triton::LaunchedKernel product_;
  std::optional<triton::LaunchedKernel> sum_;
  GemmOperands where_;
  PlanTraits traits_;
};

class TritonBackend final : public triton::KernelBackend {
 public:
  TritonBackend(const StaticSpace& stated, const CudaDevice& device)
      : KernelBackend(std::string(kTritonId), std::string(kTritonVersion), stated, device) {}

  std::vector<Config> recommended(const Problem& problem) override { return triton::gemm_starts(problem, device()); }
  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext& context) override {
    const auto shape = GemmShape::of(problem);
    const auto one = triton::GemmConfig::of(config);
    const bool is_split = one.split_k > 1;
    require_kernels(context, is_split ? 2 : 1);
    std::optional<triton::LaunchedKernel> sum;
    if (is_split) sum.emplace(kernels_, context.binaries[1], triton::kSumEntry);
    return std::make_unique<TritonPlan>(
        gpu_, shape, one, triton::LaunchedKernel(kernels_, context.binaries[0], triton::kGemmEntry), std::move(sum));
  }
};

class TritonSolver final : public Solver, public StaticSpace {
 public:
  std::string_view id() const override { return kTritonId; }
  std::string_view version() const override { return kTritonVersion; }
  std::string_view title() const override { return "Triton kernels compiled for this GPU"; }

  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    if (device.kind != "cuda" && !triton::is_amd(device)) return Support::no("runs on an NVIDIA GPU only");
    return triton::supports_gemm(problem, device);
  }
  const StaticSpace* static_space() const override { return this; }
  Versions kernel_versions() const override { return {{"kernel.triton.gemm", std::string(triton::kSourcesHash)}}; }
  std::vector<std::string> rule_sets() const override {
    return {std::string(triton::kAttuneRules), std::string(triton::kScriptRules), std::string(triton::kScriptV2Rules)};
  }
  SearchSpace space(const Problem& problem, const DeviceInfo& device) const override {
    return triton::gemm_space(GemmShape::of(problem), device);
  }
  Config default_config(const Problem& problem, const DeviceInfo& device) const override {
    return triton::gemm_starts(problem, device).front();
  }
  KeptScript script(const Problem& problem, std::span<const TimedConfig> configs) const override {
    return triton::generated_script(problem, configs);
  }
  std::vector<CompileTask> compile_tasks(const Problem& problem, const Config& config,
                                         const DeviceInfo& device) const override {
    if (triton::is_amd(device))
      fail(ErrorCode::unavailable,
           "this version states the configs of AMD GPUs, but compiles kernels of NVIDIA's only");
    const auto shape = GemmShape::of(problem);
    const auto one = triton::GemmConfig::of(config);
    std::vector<CompileTask> tasks = {triton::gemm_task(shape, one, device.gfx)};
    if (one.split_k > 1) tasks.push_back(triton::sum_task(shape, device.gfx));
    return tasks;
  }
  std::unique_ptr<Backend> open(Device& device) const override {
    auto* const gpu = dynamic_cast<CudaDevice*>(&device);
    if (gpu == nullptr) fail(ErrorCode::unavailable, "the solver needs an NVIDIA GPU, got '{}'", device.info().id);
    return std::make_unique<TritonBackend>(*this, *gpu);
  }
};

}  // namespace

void register_triton_solver(Registry& registry);
void register_triton_solver(Registry& registry) {
  registry.add(std::make_unique<TritonSolver>(), [] {
    CudaDriver::get();
    find_compiler(triton::kCompiler)->toolchain();
  });
  register_own_gemm_solver(registry);
}

}  // namespace attune
