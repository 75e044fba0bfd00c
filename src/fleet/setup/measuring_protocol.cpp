// SPDX-License-Identifier: MIT
#include "fleet/setup/measuring_protocol.h"

#include "campaign/tune_method.h"
#include "device/device_kind.h"

namespace attune {

std::string measuring_protocol(const Protocol& protocol) {
  // After the version come strategy and trials: they choose the candidates to measure.
  return protocol.procedure.substr(0, protocol.procedure.find(' ')) + " " + protocol.measured_key();
}

std::string measuring_protocol(const DeviceInfo& device) {
  const TuneOptions options;
  TunerOptions how = tuner_options(options);
  set_constants(how, options, device_kind(device.kind));
  return measuring_protocol(how.protocol);
}

}  // namespace attune
