// SPDX-License-Identifier: MIT
#pragma once
#include "device/cuda/cuda_driver.h"
#include "device/device.h"

namespace attune {

/// Streams that others opened, in any context.
class CudaCallerStreams final : public CallerStreams {
 public:
  explicit CudaCallerStreams(const CudaDriver& driver) : driver_(driver) {}
  /// Makes clear() usable; the context must outlive close(). Throws device.
  void open(CUcontext context);
  void close() noexcept;
  uint64_t capture_of(void* stream) const noexcept override;
  std::unique_ptr<CaptureExemption> exempt() override;
  void clear(const Buffer& area, std::optional<void*> stream) override;
  bool keep_with_graph(void* stream, std::shared_ptr<void> object) noexcept override;

 private:
  const CudaDriver& driver_;
  CUcontext context_ = nullptr;
  CUstream own_ = nullptr;  ///< Neither waits for another stream nor delays one.
};

}  // namespace attune
