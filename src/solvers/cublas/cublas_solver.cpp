// SPDX-License-Identifier: MIT
// cuBLAS with the kernel that it chooses itself: what PyTorch runs for a product without a bias.
#include <algorithm>
#include <limits>
#include <memory>

#include "base/error.h"
#include "base/mutex.h"
#include "cublas/sources_hash.h"
#include "cublas_library.h"
#include "device/cuda/cublas_facts.h"
#include "device/cuda/cuda_device.h"
#include "solver/host_gemm.h"
#include "solver/own_library.h"
#include "solver/registry.h"
#include "solver/solver.h"

namespace attune {
namespace {

/// What PyTorch gives the library on a Hopper GPU (CUBLAS_WORKSPACE_CONFIG).
constexpr int64_t kDefaultWorkspaceMib = 32;
constexpr int64_t kSmallWorkspaceMib = 4;
constexpr const char* kWorkspaceMib = "workspace_mib";
/// Stated by the documentation of cublasSetWorkspace().
constexpr uint32_t kWorkspaceAlignment = 256;

/// The library's handle on one device. Plans share it with their backend; a lock guards it, because stream and
/// workspace are its state.
class CublasHandle {
 public:
  explicit CublasHandle(const CudaDevice& device)
      : library(CublasLibrary::get()), driver(device.driver()), context(device.context()) {
    const CurrentContext current(driver, context);
    library.check(library.cublasCreate_v2(&handle_), "open the device");
  }
  ~CublasHandle() {
    try {
      const CurrentContext current(driver, context);
      library.cublasDestroy_v2(handle_);
    } catch (const Error&) {
      // The context is lost, and the handle with it.
    }
  }
  CublasHandle(const CublasHandle&) = delete;
  CublasHandle& operator=(const CublasHandle&) = delete;

  /// Calls `product` with the handle, which has the launch's stream and workspace. Any thread.
  template <typename Product>
  void enqueue(const Launch& launch, size_t workspace_bytes, Product&& product) const {
    const CurrentContext current(driver, context);
    const Lock lock(lock_);
    // A new stream takes the library's own workspace, so it comes first.
    library.check(library.cublasSetStream_v2(handle_, static_cast<cudaStream_t>(launch.stream)), "take a stream");
    library.check(library.cublasSetWorkspace_v2(handle_, launch.workspace, workspace_bytes), "take a workspace");
    library.check(product(handle_), "enqueue a product");
  }

  const CublasLibrary& library;
  const CudaDriver& driver;
  CUcontext context;

 private:
  mutable Mutex lock_;
  cublasHandle_t handle_ ATTUNE_GUARDED_BY(lock_) = nullptr;
};

/// A product of row-major matrices is C^T = op(B)·op(A) in the library's columns.
class CublasPlan final : public Plan {
 public:
  CublasPlan(std::shared_ptr<const CublasHandle> opened, const GemmShape& shape, int64_t workspace_mib)
      : opened_(std::move(opened)),
        shape_(shape),
        where_(GemmOperands::of(shape)),
        input_(static_cast<cudaDataType_t>(cublas_type(shape.in, "cuBLAS"))),
        output_(static_cast<cudaDataType_t>(cublas_type(shape.out, "cuBLAS"))) {
    traits_.workspace_bytes = static_cast<uint64_t>(workspace_mib) << 20;
    traits_.workspace_alignment = kWorkspaceAlignment;
    traits_.capturable = true;
    traits_.host_bytes = sizeof *this;  // The library's kernels are shared.
  }
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch& launch) const override {
    opened_->enqueue(launch, traits_.workspace_bytes, [&](cublasHandle_t handle) {
      const float alpha = 1, beta = 0;
      const int m = static_cast<int>(shape_.m), n = static_cast<int>(shape_.n), k = static_cast<int>(shape_.k);
      return opened_->library.cublasGemmEx(
          handle, shape_.b_is_kn ? CUBLAS_OP_N : CUBLAS_OP_T, shape_.trans_a ? CUBLAS_OP_T : CUBLAS_OP_N, n, m, k,
          &alpha, launch.operands[where_.b], input_, shape_.b_is_kn ? n : k, launch.operands[where_.a], input_,
          shape_.trans_a ? m : k, &beta, launch.operands[where_.c], output_, n, CUBLAS_COMPUTE_32F,
          CUBLAS_GEMM_DEFAULT);
    });
  }

 private:
  std::shared_ptr<const CublasHandle> opened_;
  GemmShape shape_;
  GemmOperands where_;
  cudaDataType_t input_, output_;
  PlanTraits traits_;
};

class CublasBackend final : public Backend {
 public:
  explicit CublasBackend(const CudaDevice& device) : opened_(std::make_shared<const CublasHandle>(device)) {}

  Versions versions() const override {
    return {{"cublas.gemm", "1+" + opened_->library.version()},
            {"kernel.cublas.gemm", std::string(cublas::kSourcesHash)}};
  }
  SearchSpace space(const Problem&) override {
    return SearchSpace::product({{.name = kWorkspaceMib, .values = {kDefaultWorkspaceMib, kSmallWorkspaceMib}}}, {});
  }
  Config default_config(const Problem&) override { return Config({{kWorkspaceMib, kDefaultWorkspaceMib}}); }
  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
    const int64_t workspace_mib = config.integer(kWorkspaceMib);
    if (workspace_mib != kDefaultWorkspaceMib && workspace_mib != kSmallWorkspaceMib)
      fail(ErrorCode::unavailable, "{} is {} or {}, the config asks for {}", kWorkspaceMib, kSmallWorkspaceMib,
           kDefaultWorkspaceMib, workspace_mib);
    return std::make_unique<CublasPlan>(opened_, GemmShape::of(problem), workspace_mib);
  }
  std::vector<EntryPoint> entry_points() const override {
    return {{"cublasGemmEx", library_of(reinterpret_cast<const void*>(opened_->library.cublasGemmEx))}};
  }

 private:
  std::shared_ptr<const CublasHandle> opened_;
};

class CublasSolver final : public Solver {
 public:
  std::string_view id() const override { return "cublas.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "cuBLAS gemmEx, as PyTorch calls it"; }
  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    if (device.kind != "cuda") return Support::no("runs on an NVIDIA GPU only");
    if (problem.op() != "gemm_a16w16") return Support::no("computes gemm_a16w16 only");
    const auto shape = GemmShape::of(problem);
    if (shape.packed) return Support::no("has no packed weights");
    if (shape.bias) return Support::no("adds no bias");
    if (std::max({shape.m, shape.n, shape.k}) > std::numeric_limits<int>::max())
      return Support::no("takes sizes of up to 2147483647 only");
    return supports_epilogue(shape, {});
  }
  std::unique_ptr<Backend> open(Device& device) const override {
    auto* const gpu = dynamic_cast<CudaDevice*>(&device);
    if (gpu == nullptr) fail(ErrorCode::unavailable, "the solver needs an NVIDIA GPU, got '{}'", device.info().id);
    return std::make_unique<CublasBackend>(*gpu);
  }
};

}  // namespace

void register_cublas_solver(Registry& registry);
void register_cublas_solver(Registry& registry) {
  registry.add(std::make_unique<CublasSolver>(), [] {
    CudaDriver::get();
    CublasLibrary::get();
  });
}

}  // namespace attune
