// SPDX-License-Identifier: MIT
// cuBLASLt: each algorithm with its attributes is a config. Its attributes are the name of a candidate, and the
// library's version is part of the solver's, so that a row is void under another library.
#include <algorithm>
#include <memory>

#include "base/error.h"
#include "cublaslt_algorithms.h"
#include "cublaslt_library.h"
#include "cublaslt_matmul.h"
#include "device/cuda/cuda_device.h"
#include "solver/host_gemm.h"
#include "solver/own_library.h"
#include "solver/registry.h"
#include "solver/solver.h"

namespace attune {
namespace {

/// What PyTorch gives the library on a Hopper GPU (CUBLASLT_WORKSPACE_SIZE), for its heuristic.
constexpr uint64_t kHeuristicWorkspaceBytes = 32u << 20;
/// Stated by the documentation of cublasLtMatmul().
constexpr uint32_t kWorkspaceAlignment = 256;

/// The library's handle on one device. Plans share it with their backend.
struct CublasltHandle {
  explicit CublasltHandle(const CudaDevice& device)
      : library(CublasltLibrary::get()), driver(device.driver()), context(device.context()) {
    const CurrentContext current(driver, context);
    library.check(library.cublasLtCreate(&handle), "open the device");
  }
  ~CublasltHandle() {
    try {
      const CurrentContext current(driver, context);
      library.cublasLtDestroy(handle);
    } catch (const Error&) {
      // The context is lost, and the handle with it.
    }
  }
  CublasltHandle(const CublasltHandle&) = delete;
  CublasltHandle& operator=(const CublasltHandle&) = delete;

  const CublasltLibrary& library;
  const CudaDriver& driver;
  CUcontext context;
  cublasLtHandle_t handle = nullptr;
};

class CublasltPlan final : public Plan {
 public:
  CublasltPlan(std::shared_ptr<const CublasltHandle> opened, const GemmShape& shape, const Config& config)
      : opened_(std::move(opened)),
        matmul_(opened_->library, shape),
        algorithm_(algorithm_of(opened_->library, opened_->handle, matmul_, config)) {
    const auto workspace = matmul_.workspace_of(opened_->handle, algorithm_);
    if (!workspace)
      fail(ErrorCode::unavailable,
           "cuBLASLt does not accept this algorithm for the product, or needs a workspace of over {} MiB",
           kMaxWorkspaceBytes >> 20);
    traits_.workspace_bytes = *workspace;
    traits_.workspace_alignment = kWorkspaceAlignment;
    traits_.capturable = true;
    traits_.host_bytes = sizeof *this + 4096;  // Descriptions are small; the library's kernels are shared.
  }
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch& launch) const override {
    const CurrentContext current(opened_->driver, opened_->context);
    matmul_.run(opened_->handle, algorithm_, launch.operands, launch.workspace, traits_.workspace_bytes, launch.stream);
  }

 private:
  std::shared_ptr<const CublasltHandle> opened_;
  CublasltMatmul matmul_;
  cublasLtMatmulAlgo_t algorithm_;
  PlanTraits traits_;
};

class CublasltBackend final : public Backend {
 public:
  explicit CublasltBackend(const CudaDevice& device) : opened_(std::make_shared<const CublasltHandle>(device)) {}

  Versions versions() const override { return {{"cublaslt.gemm", "1+" + opened_->library.version()}}; }

  SearchSpace space(const Problem& problem) override {
    const CurrentContext current(opened_->driver, opened_->context);
    const CublasltMatmul matmul(opened_->library, GemmShape::of(problem));
    std::vector<Config> all = algorithms(opened_->library, opened_->handle, matmul);
    const Config first = preferred(matmul);
    if (std::ranges::find(all, first) == all.end()) all.push_back(first);
    return SearchSpace::listed(std::move(all));
  }
  Config untuned(const Problem& problem) override {
    const CurrentContext current(opened_->driver, opened_->context);
    return preferred(CublasltMatmul(opened_->library, GemmShape::of(problem)));
  }
  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
    const CurrentContext current(opened_->driver, opened_->context);
    return std::make_unique<CublasltPlan>(opened_, GemmShape::of(problem), config);
  }
  /// About 1 µs, where space() takes seconds.
  std::optional<bool> offers(const Problem& problem, const Config& config) override {
    const CurrentContext current(opened_->driver, opened_->context);
    try {
      const CublasltMatmul matmul(opened_->library, GemmShape::of(problem));
      const auto algorithm = algorithm_of(opened_->library, opened_->handle, matmul, config);
      // The library ignores what it does not know.
      return config_of(opened_->library, algorithm) == config &&
             matmul.workspace_of(opened_->handle, algorithm).has_value();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::device) throw;
      return false;
    }
  }
  std::vector<EntryPoint> entry_points() const override {
    return {{"cublasLtMatmul", library_of(reinterpret_cast<const void*>(opened_->library.cublasLtMatmul))}};
  }

 private:
  Config preferred(const CublasltMatmul& matmul) const {
    return config_of(opened_->library, matmul.preferred(opened_->handle, kHeuristicWorkspaceBytes));
  }
  std::shared_ptr<const CublasltHandle> opened_;
};

class CublasltSolver final : public Solver {
 public:
  std::string_view id() const override { return "cublaslt.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "cuBLASLt matmul, every algorithm that it accepts"; }
  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    if (device.kind != "cuda") return Support::no("runs on an NVIDIA GPU only");
    if (problem.op() != "gemm_a16w16") return Support::no("computes gemm_a16w16 only");
    const auto shape = GemmShape::of(problem);
    if (shape.packed) return Support::no("has no packed weights");
    if (shape.bias && shape.in != shape.out) return Support::no("takes a bias of the result's type only");
    const bool has_act = shape.epilogue.act == Activation::none || shape.epilogue.act == Activation::relu ||
                         shape.epilogue.act == Activation::gelu_tanh;
    return supports_epilogue(shape, {.act = has_act});
  }
  std::unique_ptr<Backend> open(Device& device) const override {
    auto* const gpu = dynamic_cast<CudaDevice*>(&device);
    if (gpu == nullptr) fail(ErrorCode::unavailable, "the solver needs an NVIDIA GPU, got '{}'", device.info().id);
    return std::make_unique<CublasltBackend>(*gpu);
  }
};

}  // namespace

void register_cublaslt_solver(Registry& registry);
void register_cublaslt_solver(Registry& registry) { registry.add(std::make_unique<CublasltSolver>()); }

}  // namespace attune
