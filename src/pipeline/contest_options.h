// SPDX-License-Identifier: MIT
#pragma once
#include "campaign/devices/open_devices.h"
#include "campaign/interrupt.h"
#include "measure/executor.h"

namespace attune {

/// A user's settings for the contest of a pipeline's command.
struct ContestSettings {
  CachePolicy cache = CachePolicy::served;
  uint64_t seed = 0;  ///< Of the data and the order.
  Limits limits;      ///< As limits_on() completes them.
};

/// Options of time_interleaved() or of measure_changes(), which an interrupt stops. `procedure`: the protocol's, as
/// "compare/1". The environment outlives them.
template <typename Options>
Options contest_options(const ContestSettings& settings, const Environment& environment, const char* procedure) {
  Options how;
  how.protocol.cache = settings.cache;
  how.protocol.procedure = procedure;
  how.protocol.seed = how.seed = settings.seed;
  how.kernels = environment.kernels.get();
  how.limits = settings.limits;
  how.tick = is_interrupted;
  return how;
}

}  // namespace attune
