// SPDX-License-Identifier: MIT
#pragma once
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/devices.h"
#include "ops/op.h"
#include "solver/registry.h"

namespace attune {

/// A test of one solver, named by its id, on a device where it supports a sample of an op (FamilySpec::samples).
/// Skipped where the solver is unavailable; a derived SetUp() continues only if there is a solver.
class SolverFixture : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (const SolverEntry& entry : registry().entries()) {
      if (entry.id != GetParam()) continue;
      if (!entry.solver) GTEST_SKIP() << GetParam() << " is unavailable: " << entry.unavailable;
      solver_ = entry.solver;
    }
    ASSERT_NE(solver_, nullptr);
    std::vector<std::string> reasons;
    const auto opened = [&](const std::vector<DeviceInfo>& devices) {
      const auto one = std::ranges::find_if(devices, [&](const DeviceInfo& device) { return is_for(device, reasons); });
      if (one != devices.end()) device_ = open_device(one->id);
      return device_ != nullptr;
    };
    // The drivers of GPUs are asked last.
    if (opened(list_devices("cpu:0")) || opened(list_devices("fake:0")) || opened(list_devices())) return;
    const std::string id(solver_->id());
    solver_ = nullptr;
    GTEST_SKIP() << "no device is here that " << id << " supports: it "
                 << fmt::format("{}", fmt::join(reasons, "; it "));
  }

  /// The samples of all ops, normalised for a device.
  static std::vector<Problem> sample_problems(const DeviceInfo& device) {
    std::vector<Problem> problems;
    for (const Op* op : ops()) {
      for (const std::string_view sample : op->family().samples)
        problems.push_back(op->normalise(Problem::parse(fmt::format("{} {}", op->name(), sample)), device));
    }
    return problems;
  }

  const Solver* solver_ = nullptr;
  std::unique_ptr<Device> device_;

 private:
  /// Whether the solver supports a sample on a device; `reasons`: adds why not, each text once.
  bool is_for(const DeviceInfo& device, std::vector<std::string>& reasons) const {
    for (const Problem& problem : sample_problems(device)) {
      const Support support = solver_->supports(problem, device);
      if (support.yes) return true;
      if (std::ranges::find(reasons, support.reason) == reasons.end()) reasons.push_back(support.reason);
    }
    return false;
  }
};

}  // namespace attune
