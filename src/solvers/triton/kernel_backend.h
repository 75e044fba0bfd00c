// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <utility>

#include "compile/compiler.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/loaded_kernels.h"
#include "solver/static/static_space_backend.h"
#include "solvers/triton/launched_kernel.h"

namespace attune::triton {

/// A solver's kernels on one GPU.
class KernelBackend : public StaticSpaceBackend {
 public:
  /// `id`, `version`: the solver's. `stated` and `device` must outlive the backend.
  KernelBackend(std::string id, std::string version, const StaticSpace& stated, const CudaDevice& device)
      : StaticSpaceBackend(stated, device.info()),
        gpu_(device),
        kernels_(device.driver(), device.context()),
        id_(std::move(id)),
        version_(std::move(version)),
        compiler_(toolchain_if_any(kCompiler)) {}

  Versions versions() const final {
    Versions all = kernel_versions();
    all.emplace(id_, version_);
    if (!compiler_.empty()) all.emplace("compiler.triton", compiler_);
    return all;
  }

 protected:
  /// Throws unavailable unless a config's kernels are compiled.
  static void require_kernels(const PrepareContext& context, size_t count) {
    if (context.binaries.size() != count)
      fail(ErrorCode::unavailable, "the kernel must be compiled first (`attune kernels build`), got {} binaries",
           context.binaries.size());
  }

  const CudaDevice& gpu_;
  LoadedKernels kernels_;

 private:
  std::string id_, version_;
  std::string compiler_;  ///< Its toolchain; empty without Triton, where kernels come from the cache.
};

}  // namespace attune::triton
