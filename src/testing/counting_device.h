// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "device/fake/fake_device.h"

namespace attune {

/// Memory of another device, with the number of calls that a GPU would wait in.
class CountingMemory final : public DeviceMemory {
 public:
  explicit CountingMemory(DeviceMemory& inner) : inner_(inner) {}
  struct Counts {
    uint32_t waits = 0;  ///< Calls that return when the device has done them.
    uint32_t allocations = 0;
    uint32_t releases = 0;
    bool operator==(const Counts&) const = default;
  };
  /// Returns what was counted, and counts from 0 again.
  Counts take() noexcept { return std::exchange(counts_, {}); }

  Buffer allocate(uint64_t bytes, uint32_t alignment) override {
    ++counts_.allocations;
    return inner_.allocate(bytes, alignment);
  }
  void release(Buffer buffer) noexcept override {
    ++counts_.releases;
    inner_.release(buffer);
  }
  void upload(void* to, std::span<const std::byte> from) override { waiting().upload(to, from); }
  void download(std::span<std::byte> to, const void* from) override { waiting().download(to, from); }
  void copy(void* to, const void* from, uint64_t bytes) override { waiting().copy(to, from, bytes); }
  void fill_all(std::span<const PatternArea> areas) override { waiting().fill_all(areas); }
  Inspection inspect(std::span<const PatternArea> compared, std::span<const Buffer> hashed) override {
    return waiting().inspect(compared, hashed);
  }
  Protection set_writable(Buffer pages, bool writable) noexcept override {
    return inner_.set_writable(pages, writable);
  }
  std::byte* host_address(void* address) noexcept override { return inner_.host_address(address); }

 private:
  DeviceMemory& waiting() noexcept {
    ++counts_.waits;
    return inner_;
  }

  DeviceMemory& inner_;
  Counts counts_;
};

/// A fake device whose memory counts.
class CountingDevice final : public Device {
 public:
  const DeviceInfo& info() const override { return inner_.info(); }
  double relative_clock() override { return inner_.relative_clock(); }
  bool healthy() noexcept override { return inner_.healthy(); }
  CountingMemory& memory() override { return memory_; }
  std::unique_ptr<Stream> open_stream() override { return inner_.open_stream(); }
  double bandwidth_gbs(uint64_t bytes, Reading reading) override { return inner_.bandwidth_gbs(bytes, reading); }

 private:
  FakeDevice inner_;
  CountingMemory memory_{inner_.memory()};
};

}  // namespace attune
