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

/// Work that a stream has captured. The stream outlives it.
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
  /// mark becomes part of the graph, and is set anew by each of its launches.
  virtual void record(uint32_t event) = 0;
  virtual double elapsed_us(uint32_t from, uint32_t to) = 0;
  /// From here to end_capture(), what this thread enqueues on the stream is captured and does not run. What allocates
  /// or waits for the device in between makes end_capture() return null. Throws device. Called on devices alone whose
  /// kind is timed by graphs (DeviceKind::timing).
  virtual void begin_capture() {}
  /// Returns what was captured: `former`, a graph of this stream or null, with its work replaced if the device can do
  /// that, because this is cheaper, else a new graph. Its first launch takes as long as later ones. Null: some of the
  /// work cannot be captured; none of it has run, and the stream is as it was. Throws device when the stream can no
  /// longer be used.
  virtual std::unique_ptr<Graph> end_capture([[maybe_unused]] std::unique_ptr<Graph> former) { return nullptr; }
};

/// Effect of the scheduler on this process's threads while they were watched. With the clock it decides which of a
/// host's samples are `dirty`.
struct Disturbance {
  double delay_ratio = 0;  ///< Largest run-queue delay of a participating thread / elapsed time.
};

/// The threads with which a device computes, where they are the process's own.
class DeviceThreads {
 public:
  virtual ~DeviceThreads() = default;
  /// Lets threads of other pools come to rest before a turn, then pins the participating threads. Called before the
  /// untimed launches of a turn (`settled` false) and before its timed part (true).
  virtual void settle(std::string_view thread_pool, bool settled) = 0;
  /// Whether threads still worked when the last settle(…, false) had waited for them as long as it does.
  virtual bool others_ran() const = 0;
  /// Waits as settle() does before another pool's turn. Returns false if another thread still works after that: it has
  /// computed for a good part of the wait.
  virtual bool await_rest() = 0;
  /// Bracket a timed part.
  virtual void begin_watch() = 0;
  virtual Disturbance end_watch() = 0;
};

/// While one lives, what this thread allocates, fills, loads and frees belongs to no capture and spoils none.
class CaptureExemption {
 public:
  virtual ~CaptureExemption() = default;
};

/// The streams of a dispatcher's callers, by Stream::native(), which their owners may be capturing. Thread-safe.
class CallerStreams {
 public:
  virtual ~CallerStreams() = default;
  /// Number of the capture that the stream is part of, which no other capture of the process has; 0: none. Takes about
  /// 100 ns.
  virtual uint64_t capture_of(void* stream) const noexcept = 0;
  /// Null: nothing that this thread does can spoil a capture.
  virtual std::unique_ptr<CaptureExemption> exempt() = 0;
  /// Sets memory of the device to zero. `stream`: in the order of its work, as part of its capture if it is being
  /// captured. Nothing: now, and waits for that alone, so that no capture is disturbed. Throws device.
  virtual void clear(const Buffer& area, std::optional<void*> stream) = 0;
  /// Keeps the object until the graph that is being captured on the stream, and all that was made of it, have ended.
  /// The object may then end on any thread, in which no call of the device is allowed. Returns false if the device
  /// cannot report the end; the caller then keeps the object for ever.
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
  /// Waits for all that was enqueued on its streams. Thread-safe. Nothing to wait for (the default): work is done when
  /// the call that enqueues it returns.
  virtual void synchronize() noexcept {}
  virtual std::unique_ptr<Stream> open_stream() = 0;
  /// Read bandwidth in GB/s for a working set of this size, measured once per size class (power of two) and remembered.
  /// `again` measures once more and remembers the higher figure: a busy neighbour can only lower it.
  virtual double bandwidth_gbs(uint64_t working_set_bytes, Reading reading) = 0;
  /// Null (the default): it computes with none of the process's threads.
  virtual DeviceThreads* threads() { return nullptr; }
  /// Null (the default): streams of callers are never captured.
  virtual CallerStreams* caller_streams() noexcept { return nullptr; }
  /// Loads an image for this kind of device (kernel_image()). Null (the default): it loads no kernels of ours.
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
