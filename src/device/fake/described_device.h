// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <utility>

#include "device/fake/fake_device.h"

namespace attune {

/// A fake device with another description.
class DescribedDevice final : public Device {
 public:
  /// `change(DeviceInfo&)` changes the fake device's own description.
  template <typename Change>
  explicit DescribedDevice(Change&& change) {
    std::forward<Change>(change)(info_);
    memory_ = std::make_unique<FakeMemory>(static_cast<uint64_t>(info_.memory_bytes));
  }
  const DeviceInfo& info() const override { return info_; }
  double relative_clock() override { return inner_.relative_clock(); }
  bool healthy() noexcept override { return inner_.healthy(); }
  DeviceMemory& memory() override { return *memory_; }
  std::unique_ptr<Stream> open_stream() override { return inner_.open_stream(); }
  double bandwidth_gbs(uint64_t bytes, Reading reading) override { return inner_.bandwidth_gbs(bytes, reading); }

 private:
  FakeDevice inner_;
  DeviceInfo info_ = inner_.info();
  std::unique_ptr<FakeMemory> memory_;
};

}  // namespace attune
