// SPDX-License-Identifier: MIT
#include "solvers/fake/faulty_plan.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <span>

#include "solvers/fake/fault_actions.h"
#include "tensor/convert.h"

namespace attune {
namespace {

constexpr size_t kBytesAfter = 4096, kBytesOfInput = 16;
constexpr double kImplausibleUs = -1;

class FaultyPlan final : public Plan {
 public:
  FaultyPlan(std::vector<PlantedFault> faults, std::unique_ptr<Plan> plan, std::vector<TensorSpec> specs,
             FakeDevice& device)
      : faults_(std::move(faults)), plan_(std::move(plan)), specs_(std::move(specs)), device_(device) {}
  ~FaultyPlan() override {
    for (const PlantedFault& one : faults_) {
      if (one.step == FaultStep::unload && is_due(one, 1)) perform(one.fault);
    }
  }
  FaultyPlan(const FaultyPlan&) = delete;
  FaultyPlan& operator=(const FaultyPlan&) = delete;
  const PlanTraits& traits() const noexcept override { return plan_->traits(); }

  void run(const Launch& launch) const override {
    ++launches_;
    std::vector<InjectedFault> due;
    for (const PlantedFault& one : faults_) {
      if (one.step == FaultStep::run && is_due(one, launches_)) due.push_back(one.fault);
    }
    // Once is enough: a grandchild for each of a thousand launches would be a different fault.
    std::erase_if(faults_, [&](const PlantedFault& one) {
      return one.step == FaultStep::run && is_healthy(one.fault) &&
             std::find(due.begin(), due.end(), one.fault) != due.end();
    });
    for (const InjectedFault fault : due) {
      if (!needs_launch(fault)) perform(fault);
    }
    if (std::find(due.begin(), due.end(), InjectedFault::huge_result_time) != due.end())
      run_before_it_began(launch);
    else
      plan_->run(launch);
    for (const InjectedFault fault : due) {
      if (fault != InjectedFault::huge_result_time && needs_launch(fault))
        corrupt(fault, FakeMemory::reach(launch.operands));
    }
  }

 private:
  /// The launch takes less than no time, in a graph, too.
  void run_before_it_began(const Launch& launch) const {
    const auto began_us = std::make_shared<double>(0);
    device_.enqueue(launch.stream, 0, [this, began_us] { *began_us = device_.now_us(); });
    plan_->run(launch);
    device_.enqueue(launch.stream, kImplausibleUs,
                    [this, began_us] { device_.advance_us(*began_us - device_.now_us()); });
  }
  void corrupt(InjectedFault fault, std::span<void* const> operands) const {
    auto* output = static_cast<std::byte*>(operands.back());
    switch (fault) {
      case InjectedFault::scribble_inputs:
        return corrupt_inputs(operands);
      case InjectedFault::scribble_after:
        std::memset(output + specs_.back().bytes(), 0xab, kBytesAfter);
        return;
      case InjectedFault::by_process:
        return change_one(output, static_cast<uint64_t>(::getpid()) % specs_.back().elements());
      case InjectedFault::by_batch:
        for (int64_t row = 0; row < rows() && rows() % 2 == 0; ++row) change_one(output, row * columns());
        return;
      case InjectedFault::breaks_device:
        return device_.break_down();
      case InjectedFault::nan:
        return change(output, 1, [](float) { return std::numeric_limits<float>::quiet_NaN(); });
      default:
        return change(output, static_cast<size_t>(specs_.back().elements()),
                      [](float value) { return value + 1 + std::abs(value); });
    }
  }
  void corrupt_inputs(std::span<void* const> operands) const {
    for (size_t i = 0; i + 1 < operands.size(); ++i) {
      auto* input = static_cast<unsigned char*>(operands[i]);
      // Incremented, so that a second launch does not undo the first one's change.
      for (size_t at = 0; at < std::min<size_t>(kBytesOfInput, specs_[i].bytes()); ++at) ++input[at];
    }
  }
  int64_t rows() const { return specs_.back().shape.front(); }
  int64_t columns() const { return static_cast<int64_t>(specs_.back().elements()) / rows(); }
  /// Changes the last bit of an element, if it is finite: that of Inf would make a NaN of it.
  void change_one(std::byte* output, uint64_t index) const {
    const uint64_t bytes = specs_.back().bytes() / static_cast<uint64_t>(specs_.back().elements());
    float value = 0;
    to_float(specs_.back().dtype, output + index * bytes, std::span(&value, 1));
    if (!std::isfinite(value)) return;
    output[index * specs_.back().bytes() / static_cast<uint64_t>(specs_.back().elements())] ^= std::byte{1};
  }
  /// Changes the first `count` elements of the output.
  template <typename Change>
  void change(std::byte* output, size_t count, Change change_one) const {
    std::vector<float> values(count);
    to_float(specs_.back().dtype, output, values);
    for (float& value : values) value = change_one(value);
    from_float(specs_.back().dtype, values, output);
  }

  mutable std::vector<PlantedFault> faults_;  // Without healthy faults that have already happened.
  std::unique_ptr<Plan> plan_;
  std::vector<TensorSpec> specs_;
  FakeDevice& device_;
  mutable uint64_t launches_ = 0;
};

}  // namespace

std::unique_ptr<Plan> plant(std::vector<PlantedFault> faults, std::unique_ptr<Plan> plan, std::vector<TensorSpec> specs,
                            FakeDevice& device) {
  return std::make_unique<FaultyPlan>(std::move(faults), std::move(plan), std::move(specs), device);
}

}  // namespace attune
