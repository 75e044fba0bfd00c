// SPDX-License-Identifier: MIT
#include "dispatch/plans/workspace_plan.h"

#include <map>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "device/own_buffer.h"

namespace attune {
namespace {

constexpr uint32_t kAlignment = 256;

class WorkspacePlan final : public Plan {
 public:
  WorkspacePlan(std::unique_ptr<Plan> plan, DeviceMemory& memory)
      : memory_(memory), plan_(std::move(plan)), traits_(plan_->traits()), reserved_(made()) {
    traits_.workspace_bytes = traits_.zeroed_bytes = 0;
  }
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch& launch) const override {
    plan_->run({launch.operands, workspace_of(launch.stream), launch.stream});
  }

 private:
  /// The prefix is zeroed once: each run of the plan leaves it so.
  OwnBuffer made() const {
    const PlanTraits& wanted = plan_->traits();
    OwnBuffer fresh(memory_, wanted.workspace_bytes, kAlignment);
    memory_.fill(fresh.area().part(0, wanted.zeroed_bytes), {});
    return fresh;
  }
  void* workspace_of(void* stream) const {
    const Lock lock(mutex_);
    if (const auto found = by_stream_.find(stream); found != by_stream_.end()) return found->second.data();
    OwnBuffer fresh = reserved_ ? *std::exchange(reserved_, std::nullopt) : made();
    return by_stream_.emplace(stream, std::move(fresh)).first->second.data();
  }

  DeviceMemory& memory_;
  std::unique_ptr<Plan> plan_;
  PlanTraits traits_;
  mutable Mutex mutex_;
  mutable std::optional<OwnBuffer> reserved_ ATTUNE_GUARDED_BY(mutex_);
  mutable std::map<void*, OwnBuffer> by_stream_ ATTUNE_GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Plan> workspace_plan(std::unique_ptr<Plan> plan, DeviceMemory& memory) {
  return std::make_unique<WorkspacePlan>(std::move(plan), memory);
}

}  // namespace attune
