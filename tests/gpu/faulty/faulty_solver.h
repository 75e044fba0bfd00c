// SPDX-License-Identifier: MIT
#pragma once
#include "solver/static/static_space_backend.h"

namespace attune::planted {

/// Products in fp32 on an NVIDIA GPU, whose configs are correct or do harm: `fault` names what (faulty_solver.cpp has
/// the list), `late` whether only after the launches of an admission. What belongs to the admission is offered where M
/// is odd, what is late where M is even; weights packed ahead in a layout of the solver's own have faults of their own.
class FaultySolver final : public Solver, public StaticSpace {
 public:
  std::string_view id() const override { return "planted.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "kernels of the tests that do harm"; }
  Support supports(const Problem& problem, const DeviceInfo& device) const override;
  const StaticSpace* static_space() const override { return this; }
  SearchSpace space(const Problem& problem, const DeviceInfo& device) const override;
  Config default_config(const Problem& problem, const DeviceInfo& device) const override;
  std::unique_ptr<Backend> open(Device& device) const override;
};

}  // namespace attune::planted
