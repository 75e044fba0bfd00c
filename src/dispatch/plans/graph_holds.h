// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstdint>
#include <list>
#include <memory>

#include "base/clock.h"
#include "base/mutex.h"
#include "device/device.h"

namespace attune {

/// What the captured graphs of a dispatcher's callers need: plans, with their modules, and workspaces. A graph may end
/// on any thread, inside its driver, which then only counts: it takes no lock that a child of fork() could find locked,
/// and what the graph held ends in a later free_ended(). Thread-safe; callers of hold() and free_ended() are
/// LibraryUses, for which a fork() waits.
class GraphHolds {
 public:
  explicit GraphHolds(Clock& clock = steady_clock()) : clock_(clock) {}
  /// What graphs that have not ended hold is never freed; launching them is the caller's error.
  ~GraphHolds();
  GraphHolds(const GraphHolds&) = delete;
  GraphHolds& operator=(const GraphHolds&) = delete;

  /// Keeps the object until the graph that is being captured on the stream ends; for ever if the device cannot learn
  /// that.
  void hold(CallerStreams& streams, void* stream, std::shared_ptr<void> object);
  /// Frees what belonged to graphs that have ended. Calls the device.
  void free_ended();
  /// Notes a call that belongs to a capture. No lock.
  void note_capture() noexcept { last_captured_s_.store(clock_.now_s(), std::memory_order_relaxed); }
  /// Whether a graph may still be captured, by whatever thread. A wait for the device would end the capture, and no
  /// driver tells of captures on streams that it is not asked about: one is taken to last kMaxPauseS after its last
  /// call, unless all graphs have ended. No lock.
  bool may_be_capturing() const noexcept {
    return num_held() > 0 && clock_.now_s() - last_captured_s_.load(std::memory_order_relaxed) < kMaxPauseS;
  }
  static constexpr double kMaxPauseS = 2;

  /// Number of objects that graphs hold. No lock.
  uint64_t num_held() const noexcept { return num_held_->load(std::memory_order_relaxed); }

 private:
  struct Hold {
    std::shared_ptr<void> object;
    std::weak_ptr<void> graph;    ///< Expires with the graph.
    std::shared_ptr<void> owner;  ///< Keeps `graph` alive if the device cannot learn of its end.
  };
  using Holds = std::list<Hold>;
  static Holds& never_freed();
  Holds take_ended();

  Clock& clock_;
  std::atomic<double> last_captured_s_{-kMaxPauseS};
  Mutex mutex_;
  Holds holds_ ATTUNE_GUARDED_BY(mutex_);
  std::shared_ptr<std::atomic<uint64_t>> num_held_ = std::make_shared<std::atomic<uint64_t>>(0);  ///< Graphs share it.
};

}  // namespace attune
