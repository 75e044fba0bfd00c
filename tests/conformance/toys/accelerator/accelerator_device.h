// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <functional>
#include <memory>

#include "device/device.h"
#include "device/device_kind.h"

namespace attune::toys {

/// An accelerator that exists in software: an address space of its own, reached by copies, without protection of its
/// pages; streams that do nothing before they are synchronised, and can be captured, which a wait for the whole device
/// ends; a virtual clock. All that a process opens of one id share its memory. `toy:0` and `toy:1`.
class Accelerator final : public Device, public DeviceMemory, private CallerStreams {
 public:
  explicit Accelerator(std::string id);
  ~Accelerator() override = default;

  /// Enqueues a kernel, which takes this time, on a stream (Stream::native(); null: runs now).
  void enqueue(void* stream, double us, std::function<void()> kernel);
  /// Returns where a kernel finds an address; throws device for one that lies in no allocation of the device, which
  /// breaks it, as a GPU's context ends by it.
  std::byte* reach(const void* address, uint64_t bytes);

  size_t num_allocations() const;

  const DeviceInfo& info() const override { return info_; }
  double relative_clock() override { return 1; }
  bool healthy() noexcept override;
  DeviceMemory& memory() override { return *this; }
  void synchronize() noexcept override;
  std::unique_ptr<Stream> open_stream() override;
  double bandwidth_gbs(uint64_t, Reading) override { return info_.bandwidth_gbs; }

  CallerStreams* caller_streams() noexcept override { return this; }
  std::unique_ptr<KernelModule> load(const void* image) override;

  Buffer allocate(uint64_t bytes, uint32_t alignment) override;
  void release(Buffer buffer) noexcept override;
  void upload(void* to, std::span<const std::byte> from) override;
  void download(std::span<std::byte> to, const void* from) override;
  void copy(void* to, const void* from, uint64_t bytes) override;
  void fill_all(std::span<const PatternArea> areas) override;
  Inspection inspect(std::span<const PatternArea> compared, std::span<const Buffer> hashed) override;
  Protection set_writable(Buffer, bool) noexcept override { return Protection::none; }
  std::byte* host_address(void*) noexcept override { return nullptr; }

 private:
  class Queue;
  class Recording;
  struct Memory;
  void drain();
  void end_work() noexcept;
  std::span<std::byte> bytes_of(Buffer area);
  uint64_t capture_of(void* stream) const noexcept override;
  std::unique_ptr<CaptureExemption> exempt() override;
  void clear(const Buffer& area, std::optional<void*> stream) override;
  bool keep_with_graph(void* stream, std::shared_ptr<void> object) noexcept override;

  DeviceInfo info_;
  Memory& memory_;
};

DeviceKind accelerator_kind();

}  // namespace attune::toys
