// SPDX-License-Identifier: MIT
#include "fleet/setup/measuring_protocol.h"

#include "campaign/tune_method.h"
#include "device/device_kind.h"

namespace attune {

std::string measuring_protocol(const Protocol& protocol) {
  // After the version come strategy and trials: they choose the candidates to measure.
  return protocol.procedure.substr(0, protocol.procedure.find(' ')) + " " + protocol.measured_key();
}

std::string measuring_protocol(const DeviceInfo& device, const std::string& inputs) {
  TuneOptions options;
  options.inputs = inputs;
  TunerOptions how = tuner_options(options);
  set_constants(how, options, device_kind(device.kind));
  return measuring_protocol(how.protocol);
}

std::string pinned_inputs(const Versions& versions) {
  const auto protocol = versions.find(kProtocolComponent);
  if (protocol == versions.end()) return "served";
  const std::string_view measured = std::string_view(protocol->second).substr(protocol->second.find(' ') + 1);
  return std::string(measured.substr(0, measured.find(' ')));
}

}  // namespace attune
