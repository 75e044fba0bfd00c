// SPDX-License-Identifier: MIT
#pragma once
#include "solver/solver.h"

namespace attune {

/// The backend of a solver that states its configs without a device: it passes on what is stated, so that each rule
/// stands once.
class StaticSpaceBackend : public Backend {
 public:
  /// `stated` must outlive the backend, as the solvers of a registry do. The backend copies the description.
  StaticSpaceBackend(const StaticSpace& stated, const DeviceInfo& device) : stated_(stated), device_(device) {}
  SearchSpace space(const Problem& problem) final { return stated_.space(problem, device_); }
  Config default_config(const Problem& problem) final { return stated_.default_config(problem, device_); }
  SearchSpace invariant_space(const Problem& problem) final { return stated_.invariant_space(problem, device_); }

 protected:
  /// StaticSpace::kernel_versions().
  Versions kernel_versions() const { return stated_.kernel_versions(); }
  const DeviceInfo& device() const noexcept { return device_; }

 private:
  const StaticSpace& stated_;
  DeviceInfo device_;
};

}  // namespace attune
