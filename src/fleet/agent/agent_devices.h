// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "campaign/devices/open_devices.h"
#include "core/binary.h"
#include "core/device_info.h"
#include "fleet/agent/device_locks.h"
#include "fleet/agent/fleet_run_options.h"
#include "store/fleet/fleet_store.h"
#include "tuner/kernels.h"

namespace attune {

/// What an agent works on.
struct AgentDevices {
  std::optional<DeviceLocks> locks;
  DeviceInfo info;
  std::vector<Environment> environments;  ///< Empty: it only compiles, for a device that need not be here.
  std::unique_ptr<Kernels> own_kernels;   ///< Then.
  /// Compilers of the session that this machine lacks: `compiler.hostcc`. Only an agent that measures has some; it
  /// measures built kernels.
  std::vector<std::string> missing_compilers;
  Kernels& kernels() const { return own_kernels ? *own_kernels : *environments.front().kernels; }
};

/// Opens and locks the devices to work on: the ones that the options name, else on a host or a fake device the
/// session's own, else all. Opens none for compile steps alone, unless they are named. No environments and no kernels
/// after an interrupt. Throws like open_environments() and DeviceLocks.
AgentDevices open_agent_devices(const FleetRunOptions& options, const FleetSession& session);

/// The toolchains that a session pins.
Toolchains toolchains_of(const FleetSession& session);

/// Each difference between the session's environment and this one, a clause each; empty: the agent may work on the
/// session. Without a device: the solvers that compile, their sources and compilers, and the variables. An agent that
/// only measures may lack compilers: it measures built kernels.
std::vector<std::string> differences_here(const FleetSession& session, const AgentDevices& devices,
                                          const FleetRunOptions& options);

}  // namespace attune
