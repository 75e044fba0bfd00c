// SPDX-License-Identifier: MIT
#pragma once
#include <array>

#include "device/cuda/cuda_driver.h"
#include "device/device.h"

namespace attune {

/// A separate stream, which waits for no other.
class CudaStream final : public Stream {
 public:
  /// The context must outlive it. Throws device.
  CudaStream(const CudaDriver& driver, CUcontext context);
  ~CudaStream() override;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;

  void* native() const noexcept override { return stream_; }
  void synchronize() override;
  void record(uint32_t event) override;
  double elapsed_us(uint32_t from, uint32_t to) override;
  void begin_capture() override;
  std::unique_ptr<Graph> end_capture(std::unique_ptr<Graph> former) override;

 private:
  const CudaDriver& driver_;
  CUcontext context_;
  CUstream stream_ = nullptr;
  bool is_capturing_ = false;
  std::array<CUevent, 1024> events_{};  ///< Created when first recorded.
};

}  // namespace attune
