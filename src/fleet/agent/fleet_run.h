// SPDX-License-Identifier: MIT
#pragma once
#include "fleet/agent/fleet_run_options.h"

namespace attune {

/// An agent: works on the jobs of a session until none is left. Compile steps run first and use no device; then the
/// devices measure. With compile steps alone no device is opened: the session describes it. Prints progress and a
/// summary on the standard streams. Has an InterruptHandler. Returns the exit status: 0 if nothing is left; 1 if jobs
/// are left; 3 if the store was away for longer than the patience; 4 if this environment is not the session's; 5 if the
/// device was lost, which becomes an event of the store; 0 after SIGTERM if all jobs were given back, else 128 + the
/// signal's number. Throws invalid_input before anything is claimed, and later io, database and internal;
/// the leases are then released. Requires: one run at a time in a process.
int run_fleet(const FleetRunOptions& options);

}  // namespace attune
