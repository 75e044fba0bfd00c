// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "device/device.h"
#include "device/fake/fake_memory.h"

namespace attune {

/// Noise in a fake device's virtual time. Drawn once per watched part (begin_watch), so a batch is slowed as a whole,
/// as on a real device. All zero: every launch takes exactly its kernel's time.
struct FakeNoise {
  uint64_t seed = 1;
  double white = 0;        ///< Relative standard deviation of every part.
  double burst_share = 0;  ///< Fraction of parts slowed by `burst_factor` but not reported as dirty.
  double burst_factor = 1.5;
  double dirty_share = 0;  ///< Fraction of parts slowed by `dirty_factor` and reported by end_watch().
  double dirty_factor = 3;
  double slow_clock_share = 0;  ///< Fraction of relative_clock() calls that return 0.5.
};

/// A device with memory of its own and a counter as its clock. A fake kernel computes its result on the calling thread
/// and then reports its time. Its streams capture. Deterministic for a given noise seed. `fake:0`, gfx `fake`, 4 units.
class FakeDevice final : public Device, private DeviceThreads, private CallerStreams {
 public:
  explicit FakeDevice(const FakeNoise& noise = {});
  ~FakeDevice() override;
  FakeDevice(const FakeDevice&) = delete;
  FakeDevice& operator=(const FakeDevice&) = delete;

  /// Time that a launch adds to its kernel's, unless it is part of a graph.
  static constexpr double kLaunchUs = 0.5;
  /// Enqueues a kernel, which takes this time, on a stream (Stream::native()). Runs it now, or with each launch of the
  /// graph that the stream is capturing.
  void enqueue(void* stream, double us, std::function<void()> kernel);
  /// Adds `us` of undisturbed device time now, which cannot be captured. A negative value is an intentional fault.
  /// Thread-safe.
  void advance_us(double us) noexcept;
  double now_us() const noexcept { return now_us_.load(std::memory_order_relaxed); }
  /// Makes healthy() return false from now on. While the file named by $ATTUNE_FAKE_BROKEN_DEVICE exists, no fake
  /// device of any process is healthy.
  void break_down() noexcept { healthy_ = false; }
  /// Virtual time of the fixed roofline: the larger of flops at the peak of `arithmetic` and bytes / bandwidth_gbs.
  /// Throws invalid_input for a type without a peak (int4, int32, e8m0).
  double roofline_us(double flops, double bytes, DType arithmetic) const;

  static DeviceInfo describe();

  const DeviceInfo& info() const override { return info_; }
  double relative_clock() override;
  bool healthy() noexcept override;
  FakeMemory& memory() override { return memory_; }
  std::unique_ptr<Stream> open_stream() override;
  double bandwidth_gbs(uint64_t working_set_bytes, Reading reading) override;
  DeviceThreads* threads() override { return this; }
  CallerStreams* caller_streams() noexcept override { return this; }

 private:
  class FakeStream;
  class FakeGraph;
  void settle(std::string_view thread_pool, bool settled) override;
  bool others_ran() const override { return false; }
  bool await_rest() override { return true; }
  void begin_watch() override;
  Disturbance end_watch() override;
  uint64_t capture_of(void* stream) const noexcept override;
  std::unique_ptr<CaptureExemption> exempt() override { return nullptr; }
  void clear(const Buffer& area, std::optional<void*> stream) override;
  bool keep_with_graph(void* stream, std::shared_ptr<void> object) noexcept override;

  void spoil_capture() noexcept;

  DeviceInfo info_;
  FakeMemory memory_;
  FakeNoise noise_;
  Random random_;
  std::atomic<double> now_us_{0};
  std::atomic<FakeStream*> capturing_{nullptr};
  uint64_t num_captures_ = 0;
  double factor_ = 1;  ///< Noise factor of the current watched part; 1 outside.
  bool dirty_ = false;
  bool healthy_ = true;
  std::string broken_path_;  ///< Path of $ATTUNE_FAKE_BROKEN_DEVICE; empty: not set.
};

}  // namespace attune
