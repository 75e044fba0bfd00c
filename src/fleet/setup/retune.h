// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "store/fleet/fleet_store.h"
#include "store/fleet/foreign_results.h"

namespace attune {

/// Which configurations a new session tunes again.
struct RetuneOptions {
  /// Their last decision on the session's device is void in the session, or they have results of an imported session
  /// of this device alone.
  bool only_stale = false;
  bool only_recurrent = false;  ///< They are marked as recurrent.
};

struct RetunedConfiguration {
  FleetConfiguration configuration;
  std::string reason;  ///< `onednn.conv was 1+2.6.3 and is 1+3.1`; empty: it need not be stale.
};

struct Retune {
  std::string tag;  ///< `retune-7`: the configurations have it; empty without any.
  std::vector<RetunedConfiguration> configurations;
  size_t num_jobs = 0;  ///< New ones.
};

/// Why a decision is void in a session; empty: it holds. Another device or driver, or another version of a component
/// that it depends on (Age::stale).
std::string why_void(const Decision& decision, const FleetEnvironment& environment);

/// Tags the configurations and loads their perf jobs into a session. Repeated, it adds nothing. `foreign`: of the same
/// store; null: imported sessions take no part.
Retune load_retune_jobs(FleetStore& store, int64_t session, const RetuneOptions& options,
                        ForeignResults* foreign = nullptr);

}  // namespace attune
