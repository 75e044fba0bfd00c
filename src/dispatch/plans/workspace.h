// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

#include "attune/plan.h"
#include "attune/workspace_allocator.h"
#include "device/device.h"

namespace attune {

/// Memory and byte count of plans' workspaces. Both pointers must outlive the workspaces.
struct WorkspaceSource {
  const WorkspaceAllocator* allocator = nullptr;  ///< The application's; null: the device's memory.
  std::atomic<uint64_t>* held_bytes = nullptr;    ///< Sum over the workspaces that exist; null: not counted.
};

/// A plan's workspace for one stream, in a device's memory: of the application's allocator, or the device's own. Its
/// prefix is zero at first, and each run of the plan leaves it so.
class Workspace {
 public:
  /// The device must outlive the workspace. What this allocates and clears disturbs no capture; memory of an allocator
  /// is cleared in the order of the stream's work. Throws device without memory of the device, unavailable without the
  /// allocator's, invalid_input for a wrong address.
  Workspace(Device& device, const WorkspaceSource& source, const PlanTraits& traits, void* stream);
  /// Waits for the device.
  ~Workspace() { give_back(); }
  Workspace(Workspace&& other) noexcept
      : device_(other.device_), source_(other.source_), stream_(other.stream_), area_(std::exchange(other.area_, {})) {}
  Workspace& operator=(Workspace&&) = delete;

  void* data() const noexcept { return area_.data; }

 private:
  void give_back() noexcept;

  Device& device_;
  WorkspaceSource source_;
  void* stream_;
  Buffer area_;
};

}  // namespace attune
