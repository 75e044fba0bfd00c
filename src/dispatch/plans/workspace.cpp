// SPDX-License-Identifier: MIT
#include "dispatch/plans/workspace.h"

#include "base/error.h"

namespace attune {

Workspace::Workspace(Device& device, const WorkspaceSource& source, const PlanTraits& traits, void* stream)
    : device_(device), source_(source), stream_(stream) {
  const WorkspaceAllocator* const allocator = source_.allocator;
  const uint64_t bytes = traits.workspace_bytes;
  const uint32_t alignment = traits.workspace_alignment;
  CallerStreams* const streams = device.caller_streams();
  const auto exemption = streams != nullptr ? streams->exempt() : nullptr;
  area_ = allocator != nullptr ? Buffer{allocator->allocate(stream, bytes, alignment), bytes}
                               : device.memory().allocate(bytes, alignment);
  if (area_.data == nullptr)
    fail(ErrorCode::unavailable, "the application's allocator has no memory for a workspace, of bytes: {}", bytes);
  if (source_.held_bytes != nullptr) *source_.held_bytes += bytes;
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
  if (source_.held_bytes != nullptr) *source_.held_bytes -= area.bytes;
  if (source_.allocator == nullptr) return device_.memory().release(area);
  device_.synchronize();
  source_.allocator->release(stream_, area.data);
}

}  // namespace attune
