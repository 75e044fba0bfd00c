// SPDX-License-Identifier: MIT
// Triton kernels, compiled for the GPU's architecture by the Python package. M, N and K are arguments, so that one
// binary serves many shapes of its types.
#include <algorithm>
#include <array>
#include <charconv>

#include "base/error.h"
#include "compile/compiler.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_info.h"
#include "device/cuda/loaded_kernels.h"
#include "solver/host_gemm.h"
#include "solver/registry.h"
#include "solver/static/static_space_backend.h"
#include "solvers/triton/gemm_rules.h"
#include "solvers/triton/gemm_space.h"
#include "solvers/triton/generated_script.h"
#include "solvers/triton/kernel_tasks.h"
#include "triton/sources_hash.h"

namespace attune {
namespace {

using triton::Division;

constexpr std::string_view kTritonId = "triton.gemm", kTritonVersion = "1", kTritonCompiler = "triton";
constexpr int kLeastTritonCapability = 80;     // Of the package's releases that are supported.
constexpr int64_t kMaxTritonExtent = 1 << 29;  // Of M, N and K: kernels count in 32 bits.
constexpr uint64_t kPartSumAlignment = 256;

/// A number that the compiler reports about a kernel. Throws unavailable for a binary without it.
uint32_t reported(const Binary& binary, const char* fact) {
  const auto found = binary.metadata.find(fact);
  uint32_t value = 0;
  const std::string text = found == binary.metadata.end() ? "" : found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    fail(ErrorCode::unavailable, "the kernel's file does not state {}, remove it so that it is compiled again: {}",
         fact, binary.file.string());
  return value;
}

/// A kernel and how each of its programs is launched.
struct TritonKernel {
  TritonKernel(LoadedKernels& kernels, const Binary& binary, const char* entry) {
    if (reported(binary, "scratch_bytes") != 0)
      fail(ErrorCode::unavailable, "the kernel needs scratch memory, which these kernels do not use: {}",
           binary.file.string());
    grid.threads = 32 * reported(binary, "num_warps");
    grid.shared_bytes = reported(binary, "shared_bytes");
    kernel = kernels.load(binary, entry, grid.shared_bytes);
  }
  /// `arguments`: as the kernel's text names them; two pointers follow, to scratch memory and for a profiler.
  template <size_t kSize>
  void enqueue(int64_t num_programs, const std::array<void*, kSize>& arguments, CUstream stream) const {
    void* none = nullptr;
    std::array<void*, kSize + 2> all;
    std::copy(arguments.begin(), arguments.end(), all.begin());
    all[kSize] = all[kSize + 1] = &none;
    LaunchGrid launched = grid;
    launched.blocks = static_cast<uint32_t>(num_programs);
    kernel->module.enqueue(kernel->entry, launched, all, stream);
  }

  std::shared_ptr<const LoadedKernel> kernel;
  LaunchGrid grid;
};

class TritonPlan final : public Plan {
 public:
  TritonPlan(const CudaDevice& device, const GemmShape& shape, const triton::GemmConfig& config, TritonKernel product,
             std::optional<TritonKernel> sum)
      : driver_(device.driver()),
        context_(device.context()),
        shape_(shape),
        division_(shape, config),
        group_m_(static_cast<int32_t>(config.group_m)),
        product_(std::move(product)),
        sum_(std::move(sum)),
        where_(GemmOperands::of(shape)) {
    if (sum_) traits_.workspace_bytes = static_cast<uint64_t>(division_.num_parts * shape.m * shape.n) * sizeof(float);
    traits_.workspace_alignment = kPartSumAlignment;
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
    product_.enqueue(division_.num_tiles * division_.num_parts,
                     std::array<void*, 9>{&a, &b, &bias, sum_ ? &sums : &c, &m, &n, &k, &k_of_part, &group}, stream);
    if (!sum_) return;
    int64_t elements = shape_.m * shape_.n;
    auto parts = static_cast<int32_t>(division_.num_parts);
    sum_->enqueue(triton::num_pieces(elements, triton::kSumBlock),
                  std::array<void*, 6>{&sums, &bias, &c, &elements, &n, &parts}, stream);
  }

 private:
  const CudaDriver& driver_;
  CUcontext context_;
  GemmShape shape_;
  Division division_;
  int32_t group_m_;
  TritonKernel product_;
  std::optional<TritonKernel> sum_;
  GemmOperands where_;
  PlanTraits traits_;
};

class TritonBackend final : public StaticSpaceBackend {
 public:
  TritonBackend(const StaticSpace& stated, const CudaDevice& device)
      : StaticSpaceBackend(stated, device.info()),
        device_(device),
        kernels_(device.driver(), device.context()),
        compiler_(toolchain_if_any(kTritonCompiler)) {}

  Versions versions() const override {
    Versions all = kernel_versions();
    all.emplace(kTritonId, kTritonVersion);
    if (!compiler_.empty()) all.emplace("compiler.triton", compiler_);
    return all;
  }
  std::vector<Config> recommended(const Problem& problem) override { return triton::gemm_starts(problem, device()); }
  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext& context) override {
    const auto shape = GemmShape::of(problem);
    const auto one = triton::GemmConfig::of(config);
    const bool is_split = one.split_k > 1;
    if (context.binaries.size() != (is_split ? 2 : 1))
      fail(ErrorCode::unavailable, "the kernel must be compiled first (`attune kernels build`), got {} binaries",
           context.binaries.size());
    std::optional<TritonKernel> sum;
    if (is_split) sum.emplace(kernels_, context.binaries[1], triton::kSumEntry);
    return std::make_unique<TritonPlan>(
        device_, shape, one, TritonKernel(kernels_, context.binaries[0], triton::kGemmEntry), std::move(sum));
  }

 private:
  const CudaDevice& device_;
  LoadedKernels kernels_;
  std::string compiler_;  ///< Its toolchain; empty without Triton, where kernels come from the cache.
};

class TritonSolver final : public Solver, public StaticSpace {
 public:
  std::string_view id() const override { return kTritonId; }
  std::string_view version() const override { return kTritonVersion; }
  std::string_view title() const override { return "Triton kernels compiled for this GPU"; }

  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    if (device.kind != "cuda" && !triton::is_amd(device)) return Support::no("runs on an NVIDIA GPU only");
    if (problem.op() != "gemm_a16w16") return Support::no("computes gemm_a16w16 only");
    if (!triton::is_amd(device) && compute_capability(device.gfx) < kLeastTritonCapability)
      return Support::no("needs compute capability 8.0 or later");
    if (problem.integer_or("scale_ab", 0)) return Support::no("does not support scales");
    const auto shape = GemmShape::of(problem);
    if (shape.packed) return Support::no("does not support packed weights");
    if (std::max({shape.m, shape.n, shape.k}) > kMaxTritonExtent) return Support::no("counts in 32 bits");
    return supports_epilogue(shape, {});
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
    find_compiler(kTritonCompiler)->toolchain();
  });
}

}  // namespace attune
