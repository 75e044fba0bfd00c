// SPDX-License-Identifier: MIT
#pragma once
#include "solver/static/static_space_backend.h"

namespace attune::toys {

/// Products on the toy accelerator. Its kernels are loops over what the device reaches; `tile` decides how long they
/// take. Where N is 13, `fault` 1 changes the weights that all are timed with, and 2 reads an address of the host, both
/// after the launches that are verified; 3 does what 1 does, but while it is sampled only.
class AcceleratorSolver final : public Solver, public StaticSpace {
 public:
  std::string_view id() const override { return "toy_accelerator.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "loops of the toy accelerator"; }
  Support supports(const Problem& problem, const DeviceInfo& device) const override;
  const StaticSpace* static_space() const override { return this; }
  SearchSpace space(const Problem& problem, const DeviceInfo& device) const override;
  Config default_config(const Problem& problem, const DeviceInfo& device) const override;
  std::unique_ptr<Backend> open(Device& device) const override;
};

/// Products of fp16 on the toy accelerator by kernels that its compiler makes. A tile of 12 cannot be compiled.
class AssembledSolver final : public Solver, public StaticSpace {
 public:
  std::string_view id() const override { return "toy_assembled.gemm"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "compiled kernels of the toy accelerator"; }
  Support supports(const Problem& problem, const DeviceInfo& device) const override;
  const StaticSpace* static_space() const override { return this; }
  SearchSpace space(const Problem& problem, const DeviceInfo& device) const override;
  Config default_config(const Problem& problem, const DeviceInfo& device) const override;
  std::vector<CompileTask> compile_tasks(const Problem& problem, const Config& config,
                                         const DeviceInfo& device) const override;
  std::unique_ptr<Backend> open(Device& device) const override;
};

}  // namespace attune::toys
