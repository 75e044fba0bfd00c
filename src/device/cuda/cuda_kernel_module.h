// SPDX-License-Identifier: MIT
#pragma once
#include "device/cuda/cuda_driver.h"
#include "device/device_time.h"
#include "device/kernel_module.h"

namespace attune {

/// Kernels in a context, which must outlive them.
class CudaKernelModule final : public KernelModule {
 public:
  /// `image`: a fatbin or cubin. Without a binary for the GPU, the driver compiles the text in it. Throws device.
  /// `time`: counts the time of run(); null: not counted.
  CudaKernelModule(const CudaDriver& driver, CUcontext context, const void* image, DeviceTime* time = nullptr);
  ~CudaKernelModule() override;
  CudaKernelModule(const CudaKernelModule&) = delete;
  CudaKernelModule& operator=(const CudaKernelModule&) = delete;

  void run(const char* kernel, const LaunchGrid& grid, std::span<void* const> arguments) override;
  CUfunction function(const char* kernel) const;  ///< Lives as long as the module.
  /// Raises the limit of a kernel's shared memory above 48 KiB.
  void allow_shared_bytes(CUfunction kernel, uint32_t bytes) const;
  /// Enqueues a kernel on a stream of the context, which must be current. Any thread. `blocks_y`: the grid's blocks in
  /// a second dimension.
  void enqueue(CUfunction kernel, const LaunchGrid& grid, std::span<void* const> arguments, CUstream stream,
               uint32_t blocks_y = 1) const;

 private:
  const CudaDriver& driver_;
  CUcontext context_;
  DeviceTime* time_;
  CUmodule module_ = nullptr;
};

}  // namespace attune
