// SPDX-License-Identifier: MIT
#include "dispatch/threads/thread_workspace.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace attune {
namespace {

// Memory of the calling thread, kept between calls. These variables have no destructors, because destructors of other
// thread_locals and functions that run at exit may still compute. Such late calls leak their workspace.
thread_local constinit void* data = nullptr;
thread_local constinit size_t bytes = 0;

struct WorkspaceEnd {
  ~WorkspaceEnd() {
    std::free(std::exchange(data, nullptr));
    bytes = 0;
  }
};

}  // namespace

void* thread_workspace(const Plan& plan) {
  const PlanTraits& traits = plan.traits();
  if (traits.workspace_bytes == 0) return nullptr;
  if (traits.workspace_bytes > bytes) {
    constexpr size_t kAlignment = kMaxWorkspaceAlignment;
    thread_local const WorkspaceEnd end;
    static_cast<void>(end);
    std::free(std::exchange(data, nullptr));
    bytes = 0;
    const size_t wanted = (traits.workspace_bytes + kAlignment - 1) / kAlignment * kAlignment;
    data = std::aligned_alloc(kAlignment, wanted);
    if (data == nullptr)
      fail(ErrorCode::unavailable, "cannot allocate a workspace of {} bytes, free some memory", traits.workspace_bytes);
    bytes = wanted;
  }
  // A plan leaves its prefix zeroed, but another plan may have run in between.
  if (traits.zeroed_bytes > 0) std::memset(data, 0, traits.zeroed_bytes);
  return data;
}

uint64_t free_thread_workspace() noexcept {
  std::free(std::exchange(data, nullptr));
  return std::exchange(bytes, 0);
}

}  // namespace attune
