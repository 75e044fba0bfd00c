// SPDX-License-Identifier: MIT
// cuBLASLt: each algorithm with its attributes is a config, in padded matrices as well where rows are no multiple of 16
// bytes. Its attributes are the name of a candidate, and the library's version is part of the solver's, so that a row
// is void under another library.
#include <algorithm>
#include <memory>
#include <mutex>
#include <optional>

#include "algorithm_features.h"
#include "base/error.h"
#include "cublaslt/sources_hash.h"
#include "cublaslt_algorithms.h"
#include "cublaslt_library.h"
#include "cublaslt_matmul.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/cuda_info.h"
#include "padding.h"
#include "solver/host_gemm.h"
#include "solver/own_library.h"
#include "solver/registry.h"
#include "solver/solver.h"

namespace attune {
namespace {

/// What the heuristic names of a product; it orders them by the time that it expects.
constexpr int kMaxRecommended = 8;
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

  /// Loads the kernels when they are first asked for. Any thread.
  const PaddingKernels& padding_kernels() const {
    std::call_once(load_kernels_, [this] { padding_kernels_.emplace(driver, context); });
    return *padding_kernels_;
  }

  const CublasltLibrary& library;
  const CudaDriver& driver;
  CUcontext context;
  cublasLtHandle_t handle = nullptr;

 private:
  mutable std::once_flag load_kernels_;
  mutable std::optional<PaddingKernels> padding_kernels_;
};

/// Parameter of a config that runs a product in padded matrices (padding.h); absent elsewhere.
constexpr const char* kPad = "pad";

uint64_t aligned(uint64_t bytes) {
  return (bytes + kWorkspaceAlignment - 1) / kWorkspaceAlignment * kWorkspaceAlignment;
}

/// A product as the library is to compute it.
struct LibraryProduct {
  LibraryProduct(const CublasltLibrary& library, const GemmShape& shape, bool is_padded)
      : padding(is_padded ? Padding::of(shape) : std::nullopt), matmul(library, padding ? padding->padded() : shape) {}
  Config config_of(const CublasltLibrary& library, const cublasLtMatmulAlgo_t& algorithm) const {
    Config config = attune::config_of(library, algorithm);
    if (!padding) return config;
    auto values = config.values();
    values.emplace_back(kPad, int64_t{1});
    return Config(std::move(values));
  }
  std::optional<Padding> padding;
  CublasltMatmul matmul;
};

class CublasltPlan final : public Plan {
 public:
  CublasltPlan(std::shared_ptr<const CublasltHandle> opened, const GemmShape& shape, const Config& config)
      : opened_(std::move(opened)),
        product_(opened_->library, shape, config.has(kPad)),
        algorithm_(algorithm_of(opened_->library, opened_->handle, product_.matmul, config)) {
    const auto workspace = product_.matmul.workspace_of(opened_->handle, algorithm_);
    if (!workspace)
      fail(ErrorCode::unavailable,
           "cuBLASLt does not accept this algorithm for the product, or needs a workspace of over {} MiB",
           kMaxWorkspaceBytes >> 20);
    if (config.has(kPad) && !product_.padding)
      fail(ErrorCode::unavailable, "the rows of this product are not padded: remove {}=1", kPad);
    library_bytes_ = *workspace;
    traits_.workspace_bytes = library_bytes_;
    if (product_.padding) {
      kernels_ = &opened_->padding_kernels();
      traits_.workspace_bytes = aligned(library_bytes_) + product_.padding->bytes();
    }
    traits_.workspace_alignment = kWorkspaceAlignment;
    traits_.capturable = true;
    traits_.host_bytes = sizeof *this + 4096;  // Descriptions are small; the library's kernels are shared.
  }
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch& launch) const override {
    const CurrentContext current(opened_->driver, opened_->context);
    if (kernels_ == nullptr) return multiply(launch.operands, launch);
    auto* const copies = static_cast<std::byte*>(launch.workspace) + aligned(library_bytes_);
    auto* const stream = static_cast<CUstream>(launch.stream);
    multiply(kernels_->begin(*product_.padding, launch.operands, copies, stream), launch);
    kernels_->finish(*product_.padding, launch.operands, copies, stream);
  }

 private:
  void multiply(std::span<void* const> operands, const Launch& launch) const {
    product_.matmul.run(opened_->handle, algorithm_, operands, launch.workspace, library_bytes_, launch.stream);
  }
  std::shared_ptr<const CublasltHandle> opened_;
  LibraryProduct product_;
  cublasLtMatmulAlgo_t algorithm_;
  size_t library_bytes_ = 0;
  const PaddingKernels* kernels_ = nullptr;  ///< Null without padding.
  PlanTraits traits_;
};

class CublasltBackend final : public Backend {
 public:
  explicit CublasltBackend(const CudaDevice& device)
      : opened_(std::make_shared<const CublasltHandle>(device)),
        workspace_bytes_(heuristic_workspace_bytes(compute_capability(device.info().gfx))) {}

  Versions versions() const override {
    return {{"cublaslt.gemm", "2+" + opened_->library.version()},
            {"kernel.cublaslt.gemm", std::string(cublaslt::kSourcesHash)}};
  }

  SearchSpace space(const Problem& problem) override {
    const CurrentContext current(opened_->driver, opened_->context);
    const GemmShape shape = GemmShape::of(problem);
    std::vector<std::string> names = attribute_names();
    names.emplace_back(kPad);
    ConfigTableBuilder rows(names);
    const auto enter = [this] { return std::make_shared<CurrentContext>(opened_->driver, opened_->context); };
    for (const bool is_padded : {false, true}) {
      const LibraryProduct product(opened_->library, shape, is_padded);
      if (is_padded && !product.padding) break;
      const auto add = [&](const cublasLtMatmulAlgo_t& algorithm) {
        const auto values = attributes_of(opened_->library, algorithm);
        std::vector<std::optional<int64_t>> row(values.begin(), values.end());
        row.push_back(is_padded ? std::optional<int64_t>(1) : std::nullopt);
        rows.add(row);
      };
      for (const auto& one : preferred(product, kMaxRecommended)) add(one);
      for (const auto& one : algorithms(opened_->library, opened_->handle, product.matmul, enter)) add(one);
    }
    return SearchSpace::listed(std::move(rows).build()).with_features(meanings_of_ids(), algorithm_features());
  }
  Config default_config(const Problem& problem) override {
    const CurrentContext current(opened_->driver, opened_->context);
    const LibraryProduct product(opened_->library, GemmShape::of(problem), false);
    return product.config_of(opened_->library, preferred(product, 1).front());
  }
  std::vector<Config> recommended(const Problem& problem) override {
    const CurrentContext current(opened_->driver, opened_->context);
    std::vector<Config> all;
    for (const bool is_padded : {false, true}) {
      const LibraryProduct product(opened_->library, GemmShape::of(problem), is_padded);
      if (is_padded && !product.padding) break;
      for (const auto& one : preferred(product, kMaxRecommended))
        all.push_back(product.config_of(opened_->library, one));
    }
    return all;
  }
  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext&) override {
    const CurrentContext current(opened_->driver, opened_->context);
    return std::make_unique<CublasltPlan>(opened_, GemmShape::of(problem), config);
  }
  /// About 1 µs, where space() takes seconds.
  std::optional<bool> offers(const Problem& problem, const Config& config) override {
    const CurrentContext current(opened_->driver, opened_->context);
    try {
      const LibraryProduct product(opened_->library, GemmShape::of(problem), config.has(kPad));
      const auto algorithm = algorithm_of(opened_->library, opened_->handle, product.matmul, config);
      // The library ignores what it does not know.
      return product.config_of(opened_->library, algorithm) == config &&
             product.matmul.workspace_of(opened_->handle, algorithm).has_value();
    } catch (const Error& error) {
      if (error.code() == ErrorCode::device) throw;
      return false;
    }
  }
  std::vector<EntryPoint> entry_points() const override {
    return {{"cublasLtMatmul", library_of(reinterpret_cast<const void*>(opened_->library.cublasLtMatmul))}};
  }

 private:
  std::vector<cublasLtMatmulAlgo_t> preferred(const LibraryProduct& product, int max_count) const {
    return product.matmul.preferred(opened_->handle, workspace_bytes_, max_count);
  }
  std::shared_ptr<const CublasltHandle> opened_;
  uint64_t workspace_bytes_;  ///< For the heuristic; a config has the workspace that it needs.
};

class CublasltSolver final : public Solver {
 public:
  std::string_view id() const override { return "cublaslt.gemm"; }
  std::string_view version() const override { return "2"; }
  std::string_view title() const override { return "cuBLASLt matmul, every algorithm that it accepts"; }
  Support supports(const Problem& problem, const DeviceInfo& device) const override {
    if (device.kind != "cuda") return Support::no("runs on an NVIDIA GPU only");
    if (problem.op() != "gemm_a16w16") return Support::no("computes gemm_a16w16 only");
    const auto shape = GemmShape::of(problem);
    if (shape.packed) return Support::no("has no packed weights");
    if (shape.bias && shape.in != shape.out) return Support::no("takes a bias of the result's type only");
    const Activation act = shape.epilogue.act;
    // Its GELU is off by up to 5.5e-6, which a result in fp32 shows (README.md).
    const bool has_gelu = act == Activation::gelu_tanh && shape.out != DType::fp32;
    return supports_epilogue(shape, {.act = act == Activation::none || act == Activation::relu || has_gelu});
  }
  std::unique_ptr<Backend> open(Device& device) const override {
    auto* const gpu = dynamic_cast<CudaDevice*>(&device);
    if (gpu == nullptr) fail(ErrorCode::unavailable, "the solver needs an NVIDIA GPU, got '{}'", device.info().id);
    return std::make_unique<CublasltBackend>(*gpu);
  }
};

}  // namespace

void register_cublaslt_solver(Registry& registry);
void register_cublaslt_solver(Registry& registry) {
  registry.add(std::make_unique<CublasltSolver>(), [] {
    CudaDriver::get();
    CublasltLibrary::get();
  });
}

}  // namespace attune
