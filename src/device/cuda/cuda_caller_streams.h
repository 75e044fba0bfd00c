// SPDX-License-Identifier: MIT
#pragma once
#include "device/cuda/cuda_driver.h"
#include "device/device.h"

namespace attune {

/// Streams that others opened, in any context.
class CudaCallerStreams final : public CallerStreams {
 public:
  explicit CudaCallerStreams(const CudaDriver& driver) : driver_(driver) {}
  uint64_t capture_of(void* stream) const noexcept override;
  std::unique_ptr<CaptureExemption> exempt() override;
  bool keep_with_graph(void* stream, std::shared_ptr<void> object) noexcept override;

 private:
  const CudaDriver& driver_;
};

}  // namespace attune
