// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <unordered_map>

#include "base/mutex.h"
#include "device/cuda/cuda_driver.h"
#include "device/cuda/device_kernels.h"
#include "device/device_memory.h"

namespace attune {

/// The memory of a GPU. It has no write protection.
class CudaMemory final : public DeviceMemory {
 public:
  /// The context must outlive it, and so must `time`, which counts the time of its kernels and copies.
  CudaMemory(const CudaDriver& driver, CUcontext context, int64_t num_units, DeviceTime& time);
  ~CudaMemory() override;

  Buffer allocate(uint64_t bytes, uint32_t alignment) override;
  void release(Buffer buffer) noexcept override;
  std::optional<uint64_t> free_bytes() override;
  void upload(void* to, std::span<const std::byte> from) override;
  void download(std::span<std::byte> to, const void* from) override;
  void copy(void* to, const void* from, uint64_t bytes) override;
  void fill_all(std::span<const PatternArea> areas) override;
  Inspection inspect(std::span<const PatternArea> compared, std::span<const Buffer> hashed) override;
  Protection set_writable(Buffer, bool) noexcept override { return Protection::none; }
  std::byte* host_address(void*) noexcept override { return nullptr; }

  /// Read bandwidth in GB/s for a working set, measured on one of that size, at most 256 MiB. Throws device without
  /// memory for it.
  double read_bandwidth_gbs(uint64_t working_set_bytes);
  double clock_ghz(double us);

 private:
  template <typename Work>
  auto within(const Work& work);

  const CudaDriver& driver_;
  CUcontext context_;
  DeviceTime& time_;
  struct Contents {
    std::optional<DeviceKernels> kernels;
    std::unordered_map<void*, CUdeviceptr>
        blocks;  ///< Blocks of allocations that do not begin at the start of their block.
  };
  Mutex mutex_;
  Contents contents_ ATTUNE_GUARDED_BY(mutex_);
};

}  // namespace attune
