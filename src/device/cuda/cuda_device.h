// SPDX-License-Identifier: MIT
#pragma once
#include <map>

#include "device/cuda/cuda_caller_streams.h"
#include "device/cuda/cuda_driver.h"
#include "device/cuda/cuda_memory.h"
#include "device/device.h"

namespace attune {

/// An NVIDIA GPU, in its primary context, which other libraries of the process use as well. Each call makes the context
/// current and restores the previous one.
class CudaDevice final : public Device {
 public:
  /// An id of list_cuda_devices(). Throws unavailable, device.
  explicit CudaDevice(DeviceInfo info);
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  const DeviceInfo& info() const override { return info_; }
  double relative_clock() override;
  bool healthy() noexcept override;
  DeviceMemory& memory() override { return *memory_; }
  void synchronize() noexcept override;
  std::unique_ptr<Stream> open_stream() override;
  double bandwidth_gbs(uint64_t working_set_bytes, Reading reading) override;

  CallerStreams* caller_streams() noexcept override { return &caller_streams_; }
  std::unique_ptr<KernelModule> load(const void* image) override;

  const CudaDriver& driver() const noexcept { return driver_; }
  CUcontext context() const noexcept { return context_; }

 private:
  DeviceInfo info_;
  const CudaDriver& driver_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  double max_clock_ghz_ = 0;
  std::optional<CudaMemory> memory_;
  CudaCallerStreams caller_streams_;
  std::map<int, double> bandwidths_;  ///< By size class.
};

}  // namespace attune
