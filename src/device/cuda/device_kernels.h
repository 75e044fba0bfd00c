// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "device/buffer.h"
#include "device/cuda/area_list.h"
#include "device/cuda/cuda_driver.h"
#include "device/device_memory.h"
#include "device/device_time.h"

namespace attune {

/// The kernels of device_kernels.cu, loaded into one context. Its functions return when they are done; fill() and
/// inspect() wait for all work of the context first. Used by one thread at a time, whose current context must be this
/// one. Throws device.
class DeviceKernels {
 public:
  /// `num_units`: multiprocessors. The driver compiles the kernels for an architecture without a binary in this build.
  /// Counts in `time` the time of its kernels, except clock_ghz().
  DeviceKernels(const CudaDriver& driver, int64_t num_units, DeviceTime& time);
  ~DeviceKernels();
  DeviceKernels(const DeviceKernels&) = delete;
  DeviceKernels& operator=(const DeviceKernels&) = delete;

  void fill(std::span<const PatternArea> areas);
  /// A hash is a sum that all threads of the device compute together, not hash128(), which is one long chain.
  Inspection inspect(std::span<const PatternArea> compared, std::span<const Buffer> hashed);
  /// Reads 16-byte vectors of an area `rounds` times; returns its time.
  double read_us(Buffer area, uint32_t rounds);
  /// Cycles of a multiprocessor per nanosecond, measured by a kernel of about this length.
  double clock_ghz(double us);

 private:
  /// Answer of a kernel about one area, or about itself.
  using Words = std::array<uint64_t, 4>;
  CUfunction function(const char* name) const;
  template <typename... Values>
  void launch(CUfunction kernel, uint64_t blocks, Values... values);
  std::vector<Words> answers(size_t count);
  void reserve_answers(size_t count);
  template <typename Area>
  void launch_over(CUfunction kernel, std::span<const Area> areas, size_t first_answer);

  double marked_us() const;

  const CudaDriver& driver_;
  DeviceTime& time_;
  uint32_t max_blocks_;
  CUmodule module_ = nullptr;
  CUfunction fill_ = nullptr, scan_ = nullptr, hash_ = nullptr, read_ = nullptr, clock_ = nullptr;
  CUevent begin_ = nullptr, end_ = nullptr;
  CUdeviceptr words_ = 0;  ///< Answers about the areas of one call.
  size_t num_words_ = 0;   ///< Number of answers that fit in the memory.
};

}  // namespace attune
