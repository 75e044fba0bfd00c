// SPDX-License-Identifier: MIT
#include "fleet/agent/fleet_environment.h"

#include <nlohmann/json.hpp>

#include "formats/device_info/device_info.h"
#include "measure/contenders.h"
#include "ops/op.h"

namespace attune {

FleetEnvironment fleet_environment(const Environment& environment, const std::vector<std::string>& variables) {
  const DeviceInfo& device = environment.device();
  nlohmann::ordered_json facts = device_json(device);
  facts.erase("bandwidth_gbs");
  facts.erase("peak_gflops");
  FleetEnvironment found{
      .fingerprint = device.fingerprint(), .device_json = facts.dump(), .versions = {}, .variables = variables};
  const Problem problem = Problem::parse("conv direction=fwd n=1 c=8 h=8 w=8 k=8 y=3 x=3 dtype=fp32");
  for (const Contender& one : contenders(*environment.executor, op_of(problem).normalise(problem, device), Protocol()))
    found.versions.insert(one.versions.begin(), one.versions.end());
  return found;
}

}  // namespace attune
