// SPDX-License-Identifier: MIT
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "device/devices.h"
#include "solver/registry.h"

namespace attune {

/// A test of one solver, named by its id, on the device where it runs. Skipped where the solver is unavailable; a
/// derived SetUp() continues only if there is a solver.
class SolverFixture : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    for (const SolverEntry& entry : registry().entries()) {
      if (entry.id != GetParam()) continue;
      if (!entry.solver) GTEST_SKIP() << GetParam() << " is unavailable: " << entry.unavailable;
      solver_ = entry.solver;
    }
    ASSERT_NE(solver_, nullptr);
    if (list_devices(device_id()).empty()) {
      solver_ = nullptr;
      GTEST_SKIP() << "no NVIDIA GPU is here, on which alone " << GetParam() << " runs";
    }
    device_ = open_device(device_id());
  }

  std::string device_id() const {
    if (GetParam() == "fake.gemm") return "fake:0";
    return GetParam().starts_with("cublaslt.") || GetParam().starts_with("jit_cuda.") ? "cuda:0" : "cpu:0";
  }

  const Solver* solver_ = nullptr;
  std::unique_ptr<Device> device_;
};

}  // namespace attune
