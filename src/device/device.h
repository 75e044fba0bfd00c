// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "core/device_info.h"
#include "device/device_memory.h"
#include "device/device_time.h"
#include "device/kernel_module.h"

namespace attune {

/// Work that a stream has captured. The stream must outlive it.
class Graph {
 public:
  virtual ~Graph() = default;
  /// Enqueues all of it on that stream. Throws device.
  virtual void launch() = 0;
};

/// An in-order queue of work. On a host it is the calling thread: work is done when the enqueuing call returns.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void* native() const noexcept = 0;  ///< CUstream, hipStream_t; null on a host.
  virtual void synchronize() = 0;
  /// Marks a point in time under a small number (0 … 1023); elapsed_us() is valid after synchronize(). In a capture the
  /// mark becomes part of the graph, and each launch of the graph sets it again.
  virtual void record(uint32_t event) = 0;
  virtual double elapsed_us(uint32_t from, uint32_t to) = 0;
  /// Captures the work that this thread enqueues on the stream until end_capture(), instead of running it. If the
  /// thread allocates or waits for the device in between, end_capture() returns null. Throws device. Called only on
  /// devices whose kind is timed by graphs (DeviceKind::timing).
  virtual void begin_capture() {}
  /// Returns the captured work as a graph. `former`: a graph of this stream, or null. Its work is replaced if the
  /// device can do that, because this is cheaper; else the graph is new. Its first launch takes as long as later ones.
  /// Null: some of the work cannot be captured; none of it has run, and the stream is unchanged. Throws device when the
  /// stream can no longer be used.
  virtual std::unique_ptr<Graph> end_capture([[maybe_unused]] std::unique_ptr<Graph> former) { return nullptr; }
};

/// Effect of the scheduler on this process's threads while they were watched. With the clock it decides which of a
/// host's samples are `dirty`.
struct Disturbance {
  double delay_ratio = 0;  ///< Largest run-queue delay of a participating thread / elapsed time.
};

/// The threads with which a device computes, if they belong to this process.
class DeviceThreads {
 public:
  virtual ~DeviceThreads() = default;
  /// Lets threads of other pools come to rest before a turn, then pins the participating threads. Called before the
  /// untimed launches of a turn (`settled` false) and before its timed part (true).
  virtual void settle(std::string_view thread_pool, bool settled) = 0;
  /// Whether threads still worked after the longest wait of the last settle(…, false).
  virtual bool others_ran() const = 0;
  /// Waits as settle() does before another pool's turn. Returns false if another thread still works after that: it has
  /// computed for a good part of the wait.
  virtual bool await_rest() = 0;
  /// Bracket a timed part.
  virtual void begin_watch() = 0;
  virtual Disturbance end_watch() = 0;
};

/// During its life, the allocations, fills, loads and frees of this thread belong to no capture and spoil none.
class CaptureExemption {
 public:
  virtual ~CaptureExemption() = default;
};

/// The streams of a dispatcher's callers, by Stream::native(). Their owners may be capturing them. Thread-safe.
class CallerStreams {
 public:
  virtual ~CallerStreams() = default;
  /// Number of the stream's current capture, unique in the process; 0: none. Takes about 100 ns.
  virtual uint64_t capture_of(void* stream) const noexcept = 0;
  /// Null: this thread cannot spoil a capture.
  virtual std::unique_ptr<CaptureExemption> exempt() = 0;
  /// Sets memory of the device to zero. With `stream`: in the order of its work, as part of its capture if it is being
  /// captured. Without: now, and waits only for that, so that no capture is disturbed. Throws device.
  virtual void clear(const Buffer& area, std::optional<void*> stream) = 0;
  /// Keeps the object until the graph that is being captured on the stream, and everything made from it, have ended.
  /// The object may then end on any thread, where no call of the device is allowed. Returns false if the device cannot
  /// report the end; the caller must then never free the object.
  virtual bool keep_with_graph(void* stream, std::shared_ptr<void> object) noexcept = 0;
};

/// Whether an earlier measurement may be returned.
enum class Reading : uint8_t { remembered, again };

/// One device, current on its one owner thread. Functions throw device.
class Device {
 public:
  virtual ~Device() = default;
  virtual const DeviceInfo& info() const = 0;
  /// Current speed relative to the usual one (1: usual): SM clock on a GPU, a fixed clock kernel on a host. Takes about
  /// 20 µs.
  virtual double relative_clock() = 0;
  virtual bool healthy() noexcept = 0;
  virtual DeviceMemory& memory() = 0;
  /// Waits for all work enqueued on its streams. Thread-safe. The default does nothing: work is done when the call that
  /// enqueues it returns.
  virtual void synchronize() noexcept {}
  virtual std::unique_ptr<Stream> open_stream() = 0;
  /// Read bandwidth in GB/s for a working set of this size, measured once per size class (power of two) and remembered.
  /// `again` measures once more and remembers the higher figure: a busy neighbour can only lower it.
  virtual double bandwidth_gbs(uint64_t working_set_bytes, Reading reading) = 0;
  /// Null (the default): no thread of the process computes for it.
  virtual DeviceThreads* threads() { return nullptr; }
  /// Null (the default): streams of callers are never captured.
  virtual CallerStreams* caller_streams() noexcept { return nullptr; }
  /// Loads an image for this kind of device (kernel_image()). Null (the default): it loads no kernels of this program.
  virtual std::unique_ptr<KernelModule> load([[maybe_unused]] const void* image) { return nullptr; }
  DeviceTime& time() noexcept { return time_; }

 private:
  DeviceTime time_;
};

/// DeviceThreads::settle(), where the device has threads.
inline void settle(Device& device, std::string_view thread_pool, bool settled) {
  if (DeviceThreads* const threads = device.threads()) threads->settle(thread_pool, settled);
}

}  // namespace attune
