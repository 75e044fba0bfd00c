// SPDX-License-Identifier: MIT
#include "dispatch/threads/thread_workspace.h"

#include <cstdlib>
#include <cstring>

#include "base/error.h"

namespace attune {
namespace {

/// Workspace memory of the calling thread, kept between calls.
class ThreadWorkspace {
 public:
  ~ThreadWorkspace() {
    std::free(data_);
    data_ = nullptr;  // A destructor of another thread_local may still run products.
    bytes_ = 0;
  }
  ThreadWorkspace() = default;
  ThreadWorkspace(const ThreadWorkspace&) = delete;
  ThreadWorkspace& operator=(const ThreadWorkspace&) = delete;

  void* of(const PlanTraits& traits) {
    constexpr size_t kAlignment = kMaxWorkspaceAlignment;
    if (traits.workspace_bytes > bytes_) {
      std::free(data_);
      bytes_ = (traits.workspace_bytes + kAlignment - 1) / kAlignment * kAlignment;
      data_ = std::aligned_alloc(kAlignment, bytes_);
      if (data_ == nullptr) {
        bytes_ = 0;
        fail(ErrorCode::unavailable, "cannot allocate a workspace of {} bytes, free some memory",
             traits.workspace_bytes);
      }
    }
    // A plan leaves its prefix zeroed, but another plan may have run in between.
    if (traits.zeroed_bytes > 0) std::memset(data_, 0, traits.zeroed_bytes);
    return data_;
  }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace

void* thread_workspace(const Plan& plan) {
  const PlanTraits& traits = plan.traits();
  if (traits.workspace_bytes == 0) return nullptr;
  thread_local ThreadWorkspace workspace;
  return workspace.of(traits);
}

}  // namespace attune
