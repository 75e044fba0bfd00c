// SPDX-License-Identifier: MIT
#include "dispatch/plans/workspace.h"

#include "base/error.h"

namespace attune {

Workspace::Workspace(Device& device, const WorkspaceAllocator* allocator, const PlanTraits& traits, void* stream)
    : device_(device), allocator_(allocator), stream_(stream) {
  const uint64_t bytes = traits.workspace_bytes;
  const uint32_t alignment = traits.workspace_alignment;
  CallerStreams* const streams = device.caller_streams();
  const auto exemption = streams != nullptr ? streams->exempt() : nullptr;
  area_ = allocator != nullptr ? Buffer{allocator->allocate(stream, bytes, alignment), bytes}
                               : device.memory().allocate(bytes, alignment);
  if (area_.data == nullptr)
    fail(ErrorCode::unavailable, "the application's allocator has no memory for a workspace, of bytes: {}", bytes);
  try {
    if (reinterpret_cast<uintptr_t>(area_.data) % alignment != 0)
      fail(ErrorCode::invalid_input, "the application's allocator must align a workspace to {} bytes, got {}",
           alignment, area_.data);
    const Buffer prefix = area_.part(0, traits.zeroed_bytes);
    if (traits.zeroed_bytes == 0) return;
    if (streams != nullptr)
      streams->clear(prefix, allocator != nullptr ? std::optional(stream) : std::nullopt);
    else
      device.memory().fill(prefix, {});
  } catch (...) {
    give_back();
    throw;
  }
}

void Workspace::give_back() noexcept {
  if (area_.data == nullptr) return;
  const Buffer area = std::exchange(area_, {});
  if (allocator_ == nullptr) return device_.memory().release(area);
  device_.synchronize();
  allocator_->release(stream_, area.data);
}

}  // namespace attune
