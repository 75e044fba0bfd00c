// SPDX-License-Identifier: MIT
#include "fleet/agent/fleet_environment.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "fleet/setup/measuring_protocol.h"
#include "formats/device_info/device_info.h"

namespace attune {

FleetEnvironment fleet_environment(const DeviceInfo& device, const std::vector<std::string>& variables,
                                   Versions versions, const std::string& inputs) {
  nlohmann::ordered_json facts = device_json(device);
  facts.erase("bandwidth_gbs");
  facts.erase("peak_gflops");
  versions.emplace(kProtocolComponent, measuring_protocol(device, inputs));
  return {.fingerprint = device.fingerprint(),
          .device_json = facts.dump(),
          .versions = std::move(versions),
          .variables = variables};
}

}  // namespace attune
