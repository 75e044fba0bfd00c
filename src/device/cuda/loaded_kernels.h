// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/binary.h"
#include "device/cuda/cuda_kernel_module.h"

namespace attune {

/// The kernel of one binary on a GPU. Plans share it.
struct LoadedKernel {
  LoadedKernel(const CudaDriver& driver, CUcontext context, const std::string& cubin, const char* name,
               int64_t shared_bytes);
  CudaKernelModule module;
  CUfunction entry;
};

/// The binaries that a backend has loaded, by their hash. Used by the backend's thread. A plan may end on any thread,
/// also where no call of the driver is allowed (CallerStreams::keep_with_graph()), so it only drops its share; a binary
/// without plans is unloaded by a later load(), or with the backend. A plan that outlives its backend keeps its binary
/// loaded until the process ends.
class LoadedKernels {
 public:
  LoadedKernels(const CudaDriver& driver, CUcontext context) : driver_(driver), context_(context) {}
  ~LoadedKernels();
  LoadedKernels(const LoadedKernels&) = delete;
  LoadedKernels& operator=(const LoadedKernels&) = delete;

  /// Throws io for a file that cannot be read, and for one that the driver refuses: with its error, GPU and host,
  /// because the driver of one node may refuse what others load.
  std::shared_ptr<const LoadedKernel> load(const Binary& binary, const char* entry, int64_t shared_bytes);

 private:
  std::string gpu() const;
  void unload_unused();
  const CudaDriver& driver_;
  CUcontext context_;
  std::map<std::string, std::shared_ptr<const LoadedKernel>> kernels_;
};

}  // namespace attune
