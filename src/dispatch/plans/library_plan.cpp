// SPDX-License-Identifier: MIT
#include "dispatch/plans/library_plan.h"

#include "base/error.h"
#include "dispatch/threads/forked_thread.h"
#include "dispatch/threads/library_use.h"
#include "dispatch/threads/pool_order.h"

namespace attune {
namespace {

class LibraryPlan final : public Plan {
 public:
  explicit LibraryPlan(std::unique_ptr<Plan> plan) : plan_(std::move(plan)) {}
  /// Destroying a library's plan is a LibraryUse like running it. At the end of the process the plan is leaked.
  ~LibraryPlan() override {
    try {
      const LibraryUse use;
      plan_.reset();
    } catch (const Error&) {
      [[maybe_unused]] const Plan* leaked = plan_.release();
    }
  }
  LibraryPlan(const LibraryPlan&) = delete;
  LibraryPlan& operator=(const LibraryPlan&) = delete;
  const PlanTraits& traits() const noexcept override { return plan_->traits(); }
  void run(const Launch& launch) const override {
    const LibraryUse use;
    const PoolOrder ordered;
    if (came_through_fork())
      run_with_pools([&] { plan_->run(launch); });
    else
      plan_->run(launch);
  }

 private:
  std::unique_ptr<Plan> plan_;
};

}  // namespace

std::unique_ptr<Plan> library_plan(std::unique_ptr<Plan> plan) {
  return std::make_unique<LibraryPlan>(std::move(plan));
}

}  // namespace attune
