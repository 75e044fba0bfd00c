// SPDX-License-Identifier: MIT
#include "dispatch/plans/stream_plan.h"

#include <map>
#include <optional>
#include <utility>

#include "device/own_buffer.h"

namespace attune {
namespace {

class StreamPlan final : public Plan {
 public:
  StreamPlan(std::unique_ptr<Plan> plan, Device& device)
      : device_(device), plan_(std::move(plan)), traits_(plan_->traits()) {
    if (traits_.host_bytes > 0) traits_.host_bytes += sizeof *this;
    if (!has_workspace()) return;
    traits_.workspace_bytes = traits_.zeroed_bytes = 0;
    traits_.capturable = traits_.reentrant = false;
    reserved_ = new_workspace();
  }
  ~StreamPlan() override { device_.synchronize(); }
  StreamPlan(const StreamPlan&) = delete;
  StreamPlan& operator=(const StreamPlan&) = delete;

  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch& launch) const override {
    if (!has_workspace()) return plan_->run(launch);
    try {
      plan_->run({launch.operands, workspace_of(launch.stream), launch.stream});
    } catch (...) {
      by_stream_.erase(launch.stream);  // Its prefix may not be zero any more.
      throw;
    }
  }

 private:
  bool has_workspace() const noexcept { return plan_->traits().workspace_bytes > 0; }
  /// The prefix is zeroed once: each run of the plan leaves it so.
  OwnBuffer new_workspace() const {
    const PlanTraits& wanted = plan_->traits();
    OwnBuffer fresh(device_.memory(), wanted.workspace_bytes, wanted.workspace_alignment);
    device_.memory().fill(fresh.area().part(0, wanted.zeroed_bytes), {});
    return fresh;
  }
  void* workspace_of(void* stream) const {
    if (const auto found = by_stream_.find(stream); found != by_stream_.end()) return found->second.data();
    if (by_stream_.size() == kMaxStreams) {
      device_.synchronize();
      by_stream_.clear();
    }
    OwnBuffer fresh = reserved_ ? *std::exchange(reserved_, std::nullopt) : new_workspace();
    return by_stream_.emplace(stream, std::move(fresh)).first->second.data();
  }

  Device& device_;
  std::unique_ptr<Plan> plan_;
  PlanTraits traits_;
  mutable std::optional<OwnBuffer> reserved_;
  mutable std::map<void*, OwnBuffer> by_stream_;
};

}  // namespace

std::unique_ptr<Plan> stream_plan(std::unique_ptr<Plan> plan, Device& device) {
  return std::make_unique<StreamPlan>(std::move(plan), device);
}

}  // namespace attune
