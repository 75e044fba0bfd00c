// SPDX-License-Identifier: MIT
#include "solvers/fake/fake_backend.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "solvers/fake/fault_actions.h"
#include "solvers/fake/faulty_plan.h"

namespace attune {

namespace {
constexpr double kLuck = 0.7;  // of a plan with InjectedFault::fast
}

double tile_waste(int64_t tile, int64_t extent) {
  return std::abs(std::log2(static_cast<double>(tile)) -
                  std::log2(static_cast<double>(std::clamp<int64_t>(extent, 16, 128))));
}

FakeDevice& fake_device(Device& device) {
  auto* fake = dynamic_cast<FakeDevice*>(&device);
  if (!fake) fail(ErrorCode::unavailable, "the fake solver needs the fake device, got '{}'", device.info().id);
  return *fake;
}

FakeBackend::FakeBackend(const StaticSpace& stated, FakeDevice& device, const Op& op, std::string id)
    : StaticSpaceBackend(stated, device.info()),
      device_(device),
      op_(op),
      id_(std::move(id)),
      faults_(FaultList::of_environment()) {}

std::unique_ptr<Plan> FakeBackend::prepare(const Problem& problem, const Config& config, const PrepareContext&) {
  double luck = 1;
  Requirement states = stated(config);
  for (const PlantedFault& one : faults_.of(problem, config, FaultStep::prepare)) {
    if (!is_due(one, 1)) continue;
    if (one.fault == InjectedFault::fast)
      luck = kLuck;
    else if (one.fault == InjectedFault::unstated)
      states = Requirement::none;
    else
      perform(one.fault);
  }
  auto plan = healthy_plan(problem, config, luck, states);
  auto faults = faults_.of(problem, config, FaultStep::run);
  const auto last = faults_.of(problem, config, FaultStep::unload);
  faults.insert(faults.end(), last.begin(), last.end());
  if (faults.empty()) return plan;
  return plant(std::move(faults), std::move(plan), op_.tensors(problem), device_);
}

}  // namespace attune
