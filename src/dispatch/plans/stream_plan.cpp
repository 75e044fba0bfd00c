// SPDX-License-Identifier: MIT
#include "dispatch/plans/stream_plan.h"

#include <map>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/mutex.h"
#include "dispatch/threads/library_use.h"

namespace attune {
namespace {

/// A capture, and one of its streams.
using CapturedStream = std::pair<uint64_t, void*>;

/// A plan with its workspaces: one for each stream, and one for each stream of a capture, which its graph alone uses.
/// What a graph needs outlives the StreamPlan.
class PlanOnStreams {
 public:
  PlanOnStreams(std::unique_ptr<Plan> plan, Device& device, const GraphHolds& holds, const WorkspaceSource& source)
      : device_(device),
        holds_(holds),
        source_(source),
        plan_(std::move(plan)),
        has_workspace_(plan_->traits().workspace_bytes > 0) {
    if (has_workspace_ && source_.allocator == nullptr) reserved_.emplace(new_workspace(nullptr));
  }
  ~PlanOnStreams() { device_.synchronize(); }
  PlanOnStreams(const PlanOnStreams&) = delete;
  PlanOnStreams& operator=(const PlanOnStreams&) = delete;

  const Plan& plan() const noexcept { return *plan_; }
  bool has_workspace() const noexcept { return has_workspace_; }
  bool owns_memory() const noexcept { return has_workspace_ && source_.allocator == nullptr; }

  void run(const Launch& launch) {
    if (!has_workspace_) return plan_->run(launch);
    try {
      plan_->run({launch.operands, workspace_of(launch.stream), launch.stream});
    } catch (...) {
      by_stream_.erase(launch.stream);  // Its prefix may not be zero any more.
      throw;
    }
  }
  struct CaptureEntry {
    void* workspace = nullptr;
    bool is_new = false;  ///< The graph must be told of it.
  };
  CaptureEntry join_capture(const CapturedStream& captured) {
    const Lock lock(mutex_);
    auto found = by_capture_.find(captured);
    const bool is_new = found == by_capture_.end();
    if (is_new) found = by_capture_.emplace(captured, workspace_of_capture(captured.second)).first;
    return {found->second ? found->second->data() : nullptr, is_new};
  }
  void end_capture(const CapturedStream& captured) {
    const Lock lock(mutex_);
    by_capture_.erase(captured);
  }

 private:
  Workspace new_workspace(void* stream) const { return {device_, source_, plan_->traits(), stream}; }
  void* workspace_of(void* stream) {
    const auto found = by_stream_.find(stream);
    if (found == by_stream_.end() && by_stream_.size() >= kMaxStreams && !holds_.may_be_capturing()) {
      device_.synchronize();
      by_stream_.clear();
    }
    if (found != by_stream_.end()) return found->second.data();
    return by_stream_.emplace(stream, unused_workspace(stream)).first->second.data();
  }
  Workspace unused_workspace(void* stream) {
    if (!reserved_) return new_workspace(stream);
    Workspace taken = std::move(*reserved_);
    reserved_.reset();
    return taken;
  }
  std::optional<Workspace> workspace_of_capture(void* stream) {
    if (!has_workspace_) return std::nullopt;
    return unused_workspace(stream);
  }

  Device& device_;
  const GraphHolds& holds_;
  const WorkspaceSource source_;
  std::unique_ptr<Plan> plan_;
  const bool has_workspace_;
  std::optional<Workspace> reserved_;  ///< For the first stream or capture.
  std::map<void*, Workspace> by_stream_;
  Mutex mutex_;
  /// A graph may end while the plan runs.
  std::map<CapturedStream, std::optional<Workspace>> by_capture_ ATTUNE_GUARDED_BY(mutex_);
};

class StreamPlan final : public Plan {
 public:
  StreamPlan(std::unique_ptr<Plan> plan, Device& device, GraphHolds& holds, const WorkspaceSource& source)
      : callers_(device.caller_streams()),
        holds_(holds),
        traits_(plan->traits()),
        own_(std::make_shared<PlanOnStreams>(std::move(plan), device, holds, source)) {
    if (traits_.host_bytes > 0) traits_.host_bytes += sizeof *this + sizeof *own_;
    if (!own_->has_workspace()) return;
    if (own_->owns_memory()) traits_.device_bytes += traits_.workspace_bytes;
    traits_.workspace_bytes = traits_.zeroed_bytes = 0;
    traits_.reentrant = false;
  }

  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch& launch) const override {
    const uint64_t capture = callers_ != nullptr ? callers_->capture_of(launch.stream) : 0;
    if (capture == 0) return own_->run(launch);
    if (!traits_.capturable)
      fail(ErrorCode::unavailable, "the kernel allocates memory or waits for the device, so no stream can capture it");
    const LibraryUse use;  // A child of fork() must find the locks below open.
    holds_.note_capture();
    const CapturedStream captured{capture, launch.stream};
    const auto joined = own_->join_capture(captured);
    if (joined.is_new) {
      const auto end = [own = own_, captured](void*) { own->end_capture(captured); };
      holds_.hold(*callers_, launch.stream, std::shared_ptr<void>(nullptr, end));
    }
    own_->plan().run({launch.operands, joined.workspace, launch.stream});
  }

 private:
  CallerStreams* callers_;
  GraphHolds& holds_;
  PlanTraits traits_;
  std::shared_ptr<PlanOnStreams> own_;
};

}  // namespace

std::unique_ptr<Plan> stream_plan(std::unique_ptr<Plan> plan, Device& device, GraphHolds& holds,
                                  const WorkspaceSource& source) {
  return std::make_unique<StreamPlan>(std::move(plan), device, holds, source);
}

}  // namespace attune
