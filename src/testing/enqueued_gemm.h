// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "device/fake/fake_device.h"
#include "testing/planted_gemm.h"

namespace attune {

/// A correct GEMM of the fake device that is enqueued, so that it can be captured. Calls `on_run` with the operands of
/// each launch when it runs.
class EnqueuedGemm final : public Plan {
 public:
  using OnRun = std::function<void(std::span<void* const> operands)>;
  /// `capturable`: whether it states that it can be captured.
  EnqueuedGemm(const GemmShape& shape, double us, bool capturable, FakeDevice& device, OnRun on_run = {})
      : gemm_(shape, Fault::none), us_(us), device_(device), on_run_(std::move(on_run)) {
    traits_.capturable = capturable;
  }
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch& launch) const override {
    device_.enqueue(launch.stream, us_,
                    [this, operands = std::vector<void*>(launch.operands.begin(), launch.operands.end())] {
                      if (on_run_) on_run_(operands);
                      gemm_.run({.operands = operands});
                    });
  }

 private:
  PlantedGemm gemm_;
  double us_;
  FakeDevice& device_;
  OnRun on_run_;
  PlanTraits traits_;
};

}  // namespace attune
