// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>

#include "device/device.h"

namespace attune {

/// What the captured graphs of a dispatcher's callers need: plans, with their modules, and workspaces. A graph may end
/// on any thread, inside its driver, so what it held ends in a later free_ended(). Thread-safe.
class GraphHolds {
 public:
  GraphHolds();
  /// What graphs that have not ended hold is never freed; launching them is the caller's error.
  ~GraphHolds();
  GraphHolds(const GraphHolds&) = delete;
  GraphHolds& operator=(const GraphHolds&) = delete;

  /// Keeps the object until the graph that is being captured on the stream ends; for ever if the device cannot learn
  /// that.
  void hold(CallerStreams& streams, void* stream, std::shared_ptr<void> object);
  /// Frees what belonged to graphs that have ended. Calls the device.
  void free_ended();
  /// Number of objects that graphs hold. No lock.
  uint64_t num_held() const noexcept;

 private:
  struct Lists;
  std::shared_ptr<Lists> lists_;  ///< The graphs share it.
};

}  // namespace attune
