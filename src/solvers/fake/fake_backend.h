// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <string>

#include "device/fake/fake_device.h"
#include "ops/op.h"
#include "solver/static/static_space_backend.h"
#include "solvers/fake/faults.h"

namespace attune {

/// A backend on the fake device, whose plans have the faults that a file plants ($ATTUNE_FAKE_FAULTS, read when it is
/// opened).
class FakeBackend : public StaticSpaceBackend {
 public:
  /// All arguments must outlive it. `id`: the solver's.
  FakeBackend(const StaticSpace& stated, FakeDevice& device, const Op& op, std::string id);
  Versions versions() const final { return {{id_, "1"}}; }
  std::unique_ptr<Plan> prepare(const Problem& problem, const Config& config, const PrepareContext& context) final;

 protected:
  FakeDevice& device() const noexcept { return device_; }
  const Op& op() const noexcept { return op_; }

 private:
  /// A plan without faults, whose launches take `luck` times their time.
  virtual std::unique_ptr<Plan> healthy_plan(const Problem& problem, const Config& config, double luck,
                                             Requirement states) const = 0;
  /// What a config's plan states.
  virtual Requirement stated(const Config& config) const = 0;

  FakeDevice& device_;
  const Op& op_;
  std::string id_;
  FaultList faults_;
};

/// Distance, in doublings, between a parameter and the best value for an extent, which is from 16 to 128.
double tile_waste(int64_t tile, int64_t extent);

/// `device` as the fake one. Throws unavailable for another.
FakeDevice& fake_device(Device& device);

/// Solver `fake.<op>` of an op: its reference as a kernel, with times by a formula. `op` must outlive it.
std::unique_ptr<Solver> make_fake_op_solver(const Op& op);

}  // namespace attune
