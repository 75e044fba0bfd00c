// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "device/device_memory.h"
#include "device/own_buffer.h"

namespace attune::toys {

/// A product of ones and twos in the device's memory: each element of C is 2·K.
class DeviceCall {
 public:
  DeviceCall(DeviceMemory& memory, int64_t m, int64_t n, int64_t k)
      : memory_(memory), expected_(2.0f * static_cast<float>(k)) {
    put(static_cast<size_t>(m * k), 1);
    put(static_cast<size_t>(n * k), 2);
    put(static_cast<size_t>(m * n), -1);
  }
  std::array<void*, 3> operands() const { return {buffers_[0].data(), buffers_[1].data(), buffers_[2].data()}; }
  void clear() const { memory_.fill(buffers_[2].area(), {}); }
  bool is_computed() const {
    std::vector<float> c(buffers_[2].area().bytes / sizeof(float));
    memory_.download(std::as_writable_bytes(std::span(c)), buffers_[2].data());
    return std::all_of(c.begin(), c.end(), [&](float one) { return one == expected_; });
  }

 private:
  void put(size_t count, float value) {
    const std::vector<float> values(count, value);
    buffers_.emplace_back(memory_, count * sizeof(float), 256);
    memory_.upload(buffers_.back().data(), std::as_bytes(std::span(values)));
  }
  DeviceMemory& memory_;
  float expected_;
  std::vector<OwnBuffer> buffers_;
};

}  // namespace attune::toys
