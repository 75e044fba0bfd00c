// SPDX-License-Identifier: MIT
#pragma once
#include "attune/attune.h"

/// The memory of kernels' workspaces from the application, for C. attune/workspace_allocator.h says when the functions
/// are called and what they may do.

#ifdef __cplusplus
extern "C" {
#endif

/// An application's allocator, for attune_options.workspaces; attune_open() copies it. Both functions must be set.
struct attune_workspace_allocator {
  size_t size;
  void* context;  ///< Passed to both functions.
  /// Returns at least `bytes` of the device's memory at a multiple of `alignment`, for work on the stream alone; null:
  /// there is none, the call is then ATTUNE_UNAVAILABLE.
  void* (*allocate)(void* context, void* stream, uint64_t bytes, uint32_t alignment);
  /// Takes it back when all work that used it is done. Any thread may call it.
  void (*release)(void* context, void* stream, void* memory);
};
#define ATTUNE_WORKSPACE_ALLOCATOR_INIT \
  { sizeof(attune_workspace_allocator), 0, 0, 0 }

#ifdef __cplusplus
}
#endif
