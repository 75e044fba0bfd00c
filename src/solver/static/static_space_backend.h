// SPDX-License-Identifier: MIT
#pragma once
#include "base/error.h"
#include "solver/solver.h"

namespace attune {

/// The backend of a solver that states its configs without a device: it asks the solver, so that each rule stands once.
class StaticSpaceBackend : public Backend {
 public:
  /// The solver must outlive the backend, as those of a registry do. Copies the description.
  StaticSpaceBackend(const Solver& solver, const DeviceInfo& device) : solver_(solver), device_(device) {}
  SearchSpace space(const Problem& problem) final { return present(solver_.space(problem, device_)); }
  Config untuned(const Problem& problem) final { return present(solver_.untuned(problem, device_)); }
  SearchSpace invariant_space(const Problem& problem) final {
    return present(solver_.invariant_space(problem, device_));
  }

 protected:
  const DeviceInfo& device() const noexcept { return device_; }

 private:
  template <typename Stated>
  Stated present(std::optional<Stated> one) const {
    ATTUNE_CHECK(one.has_value(), "{} states no configs without a device", solver_.id());
    return *std::move(one);
  }

  const Solver& solver_;
  DeviceInfo device_;
};

}  // namespace attune
