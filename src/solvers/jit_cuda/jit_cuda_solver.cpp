// SPDX-License-Identifier: MIT
// Kernels generated as CUDA C++ and compiled for the GPU's architecture by NVRTC. M, N, K and the parts of K are
// arguments, so that one binary serves every shape of its types.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "compile/compiler.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_info.h"
#include "device/cuda/loaded_kernels.h"
#include "jit_cuda/sources_hash.h"
#include "solver/host_gemm.h"
#include "solver/registry.h"
#include "solver/static/static_space_backend.h"
#include "solvers/jit_cuda/gemm_space.h"
#include "solvers/jit_cuda/kernel_arguments.h"
#include "solvers/jit_cuda/kernel_text.h"

namespace attune {
namespace {

using namespace jit_cuda;

constexpr std::string_view kId = "jit_cuda.gemm", kVersion = "3";
constexpr int kLeastCapability = 80;     // The first with cp.async and products of bf16.
constexpr int64_t kMaxExtent = 1 << 30;  // Of M, N and K: kernels count in 32 bits.
constexpr uint32_t kSumThreads = 256, kMaxSumBlocks = 1024;
constexpr uint64_t kSumAlignment = 256;

/// How a config computes a shape.
struct Work {
  Work(const GemmShape& shape, const GemmConfig& config) {
    num_tiles = num_pieces(shape.m, config.tile_rows()) * num_pieces(shape.n, config.tile_columns());
    part_length = num_pieces(num_pieces(shape.k, config.k_multiple()), config.split_k) * config.k_multiple();
    num_parts = num_pieces(shape.k, part_length);
    num_blocks = config.blocks > 0 ? config.blocks : num_tiles * num_parts;
    if (config.split_k == 1 && config.blocks == 0) return;
    if (config.reduction == Reduction::block)
      counter_bytes =
          num_pieces(num_tiles * 4, static_cast<int64_t>(kSumAlignment)) * static_cast<int64_t>(kSumAlignment);
    const int64_t sums = config.blocks > 0 ? 2 * config.blocks * config.tile_rows() * config.tile_columns()
                                           : num_parts * shape.m * shape.n;
    sum_bytes = sums * static_cast<int64_t>(sizeof(float));
  }
  int64_t num_tiles = 0, part_length = 0, num_parts = 1, num_blocks = 0, counter_bytes = 0, sum_bytes = 0;
};

class JitCudaPlan final : public Plan {
 public:
  JitCudaPlan(const CudaDevice& device, const GemmShape& shape, const GemmConfig& config,
              std::shared_ptr<const LoadedKernel> kernel, std::shared_ptr<const LoadedKernel> sum)
      : driver_(device.driver()),
        context_(device.context()),
        shape_(shape),
        work_(shape, config),
        kernel_(std::move(kernel)),
        sum_(std::move(sum)),
        where_(GemmOperands::of(shape)) {
    arguments_ = {.a = nullptr,
                  .b = nullptr,
                  .bias = nullptr,
                  .c = nullptr,
                  .sums = nullptr,
                  .counters = nullptr,
                  .m = static_cast<int>(shape.m),
                  .n = static_cast<int>(shape.n),
                  .k = static_cast<int>(shape.k),
                  .num_parts = static_cast<int>(work_.num_parts),
                  .part_length = static_cast<int>(work_.part_length),
                  .group = static_cast<int>(std::max<int64_t>(config.group_m, 1))};
    grid_ = {.blocks = static_cast<uint32_t>(work_.num_blocks),
             .threads = static_cast<uint32_t>(config.num_threads()),
             .shared_bytes = static_cast<uint32_t>(config.shared_bytes())};
    traits_.workspace_bytes = static_cast<uint64_t>(work_.counter_bytes + work_.sum_bytes);
    traits_.workspace_alignment = kSumAlignment;
    traits_.zeroed_bytes = static_cast<uint64_t>(work_.counter_bytes);
    traits_.capturable = true;
    traits_.states = Requirement::deterministic;
    traits_.host_bytes = sizeof *this + 1024;
  }
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch& launch) const override {
    const CurrentContext current(driver_, context_);
    auto* const stream = static_cast<CUstream>(launch.stream);
    KernelArguments arguments = arguments_;
    arguments.a = launch.operands[where_.a];
    arguments.b = launch.operands[where_.b];
    if (shape_.bias) arguments.bias = launch.operands[where_.bias];
    arguments.c = launch.operands[where_.c];
    auto* const workspace = static_cast<std::byte*>(launch.workspace);
    if (work_.counter_bytes > 0) arguments.counters = reinterpret_cast<unsigned*>(workspace);
    if (work_.sum_bytes > 0) arguments.sums = reinterpret_cast<float*>(workspace + work_.counter_bytes);
    const std::array<void*, 1> addresses = {&arguments};
    kernel_->module.enqueue(kernel_->entry, grid_, addresses, stream);
    if (sum_ == nullptr) return;
    const auto blocks =
        static_cast<uint32_t>(std::min<int64_t>(num_pieces(shape_.m * shape_.n, kSumThreads), kMaxSumBlocks));
    sum_->module.enqueue(sum_->entry, {.blocks = blocks, .threads = kSumThreads}, addresses, stream);
  }

 private:
  const CudaDriver& driver_;
  CUcontext context_;
  GemmShape shape_;
  Work work_;
  std::shared_ptr<const LoadedKernel> kernel_, sum_;  ///< `sum_`: null without a second launch.
  GemmOperands where_;
  KernelArguments arguments_{};
  LaunchGrid grid_;
  PlanTraits traits_;
};

class JitCudaBackend final : public StaticSpaceBackend {
 public:
  JitCudaBackend(const StaticSpace& stated, const CudaDevice& device)
      : StaticSpaceBackend(stated, device.info()),
        device_(device),
        kernels_(device.driver(), device.context()),
        compiler_(toolchain_if_any("nvrtc")) {}

  Versions versions() const override {
    Versions all = kernel_versions();
    all.emplace(kId, kVersion);
    if (!compiler_.empty()) all.emplace("compiler.nvrtc", compiler_);
    return all;
  }
  std::vector<Config> recommended(const Problem& problem) override {
    std::vector<Config> all;
    for (const GemmConfig& one : gemm_starts(GemmShape::of(problem), device())) all.push_back(one.text());
    return all;
  }
  /// Some microseconds, where space() takes milliseconds.
  std::optional<bool> offers(const Problem& problem, const Config& config) override {
    return is_offered(GemmShape::of(problem), config, device());
  }
  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext& context) override {
    const auto shape = GemmShape::of(problem);
    const GemmConfig one = GemmConfig::of(config);
    if (const GemmRule* rule = broken_rule(one, shape, device()))
      fail(ErrorCode::unavailable, "the config is not offered for this product: {}", rule->reason);
    if (context.binaries.size() != (one.has_second_launch() ? 2 : 1))
      fail(ErrorCode::unavailable, "the kernel must be compiled first (`attune kernels build`), got {} binaries",
           context.binaries.size());
    auto kernel = kernels_.load(context.binaries[0], kProductEntry, one.shared_bytes());
    auto sum = one.has_second_launch() ? kernels_.load(context.binaries[1], kSumEntry, 0) : nullptr;
    return std::make_unique<JitCudaPlan>(device_, shape, one, std::move(kernel), std::move(sum));
  }

  static bool is_offered(const GemmShape& shape, const Config& config, const DeviceInfo& device) {
    try {
      const GemmConfig one = GemmConfig::of(config);
      // A parameter that the kernel does not have would be ignored.
      return one.text() == config && broken_rule(one, shape, device) == nullptr;
    } catch (const Error&) {
      return false;
    }
  }

 private:
  const CudaDevice& device_;
  LoadedKernels kernels_;
  std::string compiler_;  ///< Its toolchain; empty without a compiler, where kernels come from the cache.
};

class JitCudaSolver final : public Solver, public StaticSpace {
 public:
  std::string_view id() const override { return kId; }
  std::string_view version() const override { return kVersion; }
  std::string_view title() const override { return "kernels generated for this GPU and compiled here"; }

  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    if (device.kind != "cuda") return Support::no("runs on an NVIDIA GPU only");
    if (problem.op() != "gemm_a16w16") return Support::no("computes gemm_a16w16 only");
    if (compute_capability(device.gfx) < kLeastCapability) return Support::no("needs compute capability 8.0 or later");
    if (problem.integer_or("scale_ab", 0)) return Support::no("does not support scales");
    const auto shape = GemmShape::of(problem);
    if (shape.trans_a || shape.b_is_kn) return Support::no("takes x and weights that lie along K only");
    if (std::max({shape.m, shape.n, shape.k}) > kMaxExtent) return Support::no("counts in 32 bits");
    const Support epilogue = supports_epilogue(shape, {});
    if (!epilogue.yes) return epilogue;
    if (gemm_starts(shape, device).empty())
      return Support::no("multiplies fp32 of at most 64 rows of x, which the tensor cores would round");
    return {};
  }
  const StaticSpace* static_space() const override { return this; }
  Versions kernel_versions() const override { return {{"kernel.jit_cuda.gemm", std::string(jit_cuda::kSourcesHash)}}; }
  SearchSpace space(const Problem& problem, const DeviceInfo& device) const override {
    return gemm_space(GemmShape::of(problem), device);
  }
  Config default_config(const Problem& problem, const DeviceInfo& device) const override {
    return gemm_starts(GemmShape::of(problem), device).front().text();
  }
  std::vector<CompileTask> compile_tasks(const Problem& problem, const Config& config,
                                         const DeviceInfo& device) const override {
    const auto shape = GemmShape::of(problem);
    const GemmConfig one = GemmConfig::of(config);
    std::vector<CompileTask> tasks = {gemm_task(shape, one, device.gfx)};
    if (one.has_second_launch()) tasks.push_back(sum_task(shape, device.gfx));
    return tasks;
  }
  std::unique_ptr<Backend> open(Device& device) const override {
    auto* const gpu = dynamic_cast<CudaDevice*>(&device);
    if (gpu == nullptr) fail(ErrorCode::unavailable, "the solver needs an NVIDIA GPU, got '{}'", device.info().id);
    return std::make_unique<JitCudaBackend>(*this, *gpu);
  }
};

}  // namespace

void register_jit_cuda_solver(Registry& registry);
void register_jit_cuda_solver(Registry& registry) {
  registry.add(std::make_unique<JitCudaSolver>(), [] {
    CudaDriver::get();
    find_compiler("nvrtc")->toolchain();
  });
}

}  // namespace attune
