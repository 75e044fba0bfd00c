// SPDX-License-Identifier: MIT
#pragma once
#include "solver/static/static_space_backend.h"

namespace attune::toys {

/// `toy_scaled.loops`: plain loops over one output at a time, or over four. Its own layout of packed operands has the
/// rows of b, and their scales, from the last to the first.
class ScaledSolver final : public Solver, public StaticSpace {
 public:
  std::string_view id() const override { return "toy_scaled.loops"; }
  std::string_view version() const override { return "1"; }
  std::string_view title() const override { return "loops of the toy product"; }
  Support supports(const Problem& problem, const DeviceInfo& device) const override;
  const StaticSpace* static_space() const override { return this; }
  SearchSpace space(const Problem& problem, const DeviceInfo& device) const override;
  Config default_config(const Problem& problem, const DeviceInfo& device) const override;
  std::unique_ptr<Backend> open(Device& device) const override;
};

}  // namespace attune::toys
