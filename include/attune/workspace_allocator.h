// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <functional>

namespace attune {

/// An application's allocator for the workspaces of a dispatcher's kernels, on a device with streams; a host's kernels
/// do not use it. Either both functions are set or none: then each plan has workspaces of its own in the device's
/// memory, the first of them reserved when it is made.
///
/// A plan asks for memory when it first runs on a stream, and when it is first part of a capture of that stream; only
/// work that is enqueued on that stream uses it. The plan keeps it for its later runs there and gives it back when it
/// is evicted, when it runs on more than 16 streams, or when the graph of the capture has ended. The bound of a
/// device's workspaces does not count it.
///
/// Threads: the functions may be called by several threads at once, `allocate` by those that call run(), `release` by
/// any; neither may call the dispatcher. During a capture `allocate` must not do what would spoil it.
struct WorkspaceAllocator {
  /// Returns at least `bytes` of the device's memory at a multiple of `alignment`; null: there is none, the call is
  /// then unavailable. What it throws, the call throws.
  std::function<void*(void* stream, uint64_t bytes, uint32_t alignment)> allocate;
  /// Takes memory of allocate() back. All work that used it is done. Must not throw.
  std::function<void(void* stream, void* memory)> release;
};

}  // namespace attune
