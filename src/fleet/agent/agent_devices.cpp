// SPDX-License-Identifier: MIT
#include "fleet/agent/agent_devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/line_output.h"
#include "base/machine.h"
#include "base/text.h"
#include "campaign/interrupt.h"
#include "compile/compiler.h"
#include "device/device_kind.h"
#include "fleet/agent/fleet_environment.h"
#include "fleet/agent/session_match.h"
#include "fleet/setup/list_solvers.h"
#include "fleet/setup/session_device.h"
#include "solver/registry.h"

namespace attune {
namespace {

/// The devices to work on: the ones that the user named, else on a host or a fake device the session's own, else all.
DeviceChoice devices_of(const TuneOptions& options, const FleetSession& session) {
  DeviceChoice choice = options.devices;
  if (!choice.ids.empty() || choice.threads > 0) return choice;
  const DeviceInfo pinned = device_of_session(session);
  const DeviceKind* kind = find_device_kind(pinned.id);
  if (kind == nullptr || kind->numbers == DeviceNumbers::devices || !pinned.id.ends_with(":0")) return choice;
  choice.ids = pinned.id;
  if (kind->units_are_cores && pinned.num_units <= static_cast<int64_t>(allowed_cores().size()))
    choice.threads = pinned.num_units;
  return choice;
}

std::vector<Environment> open_agent_environments(const TuneOptions& options, const DeviceChoice& devices,
                                                 const KernelOptions& kernels) {
  return unless_interrupted([&] {
    return open_environments(devices, isolation_option(options.isolation), kernels,
                             static_cast<uint32_t>(options.workers), is_interrupted);
  });
}

constexpr std::string_view kCompilerPrefix = "compiler.";

/// The session's solvers that this program has, with their versions here. A library that this machine lacks counts as
/// the session's: it has nothing to compile.
std::vector<FleetSolver> solvers_to_compile(const FleetSession& session) {
  std::vector<FleetSolver> here;
  for (FleetSolver one : session.solvers) {
    const auto entries = registry().entries();
    const bool is_known = std::ranges::any_of(entries, [&](const SolverEntry& entry) { return entry.id == one.id; });
    if (!is_known) continue;
    const Solver* solver = registry().find(one.id);
    if (solver != nullptr && solver->static_space() != nullptr) one.version = solver->version();
    here.push_back(std::move(one));
  }
  return here;
}

/// The compilers among a session's versions, as they are here.
Versions compilers_here(const Versions& versions) {
  Versions here;
  for (const auto& [component, version] : versions) {
    if (!component.starts_with(kCompilerPrefix)) continue;
    const std::string toolchain = toolchain_if_any(std::string_view(component).substr(kCompilerPrefix.size()));
    if (!toolchain.empty()) here.emplace(component, toolchain);
  }
  return here;
}

/// The missing ones among them.
std::vector<std::string> missing_compilers(const Versions& versions) {
  const Versions here = compilers_here(versions);
  std::vector<std::string> missing;
  for (const auto& [component, version] : versions) {
    if (component.starts_with(kCompilerPrefix) && !here.contains(component)) missing.push_back(component);
  }
  return missing;
}

/// Source versions of the session's solvers that state their kernels without a device.
Versions kernels_here(const FleetSession& session) {
  Versions here;
  for (const FleetSolver& one : session.solvers) {
    const Solver* const solver = registry().find(one.id);
    const StaticSpace* const stated = solver == nullptr ? nullptr : solver->static_space();
    if (stated != nullptr) here.merge(stated->kernel_versions());
  }
  return here;
}

/// Of devices such as `cuda:0,cuda:1`.
std::vector<std::string> lock_names(const std::string& ids) {
  std::vector<std::string> names;
  for (const std::string_view id : split(ids, ',')) {
    if (std::string name = lock_name(std::string(trim(id))); !name.empty()) names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

AgentDevices open_agent_devices(const FleetRunOptions& options, const FleetSession& session) {
  AgentDevices devices;
  if (std::ranges::all_of(options.steps, compiles) && options.tune.devices.ids.empty()) {
    devices.info = device_of_session(session);
    devices.own_kernels = open_kernels(devices.info, options.tune.kernels);
    print_notes(registry().notices());
    return devices;
  }
  KernelOptions kernels = options.tune.kernels;
  if (std::ranges::none_of(options.steps, compiles)) {
    devices.missing_compilers = missing_compilers(session.environment.versions);
    for (const std::string& component : devices.missing_compilers)
      kernels.stored_toolchains.emplace(component.substr(kCompilerPrefix.size()),
                                        session.environment.versions.at(component));
    if (!devices.missing_compilers.empty())
      print_line(stderr, fmt::format("note: only kernels that are built are measured, because this machine lacks {}",
                                     join(devices.missing_compilers, ", ")));
  }
  DeviceChoice choice = devices_of(options.tune, session);
  choice.ids = ids_to_open(choice, isolation_option(options.tune.isolation));
  devices.locks.emplace(lock_names(choice.ids));
  devices.environments = open_agent_environments(options.tune, choice, kernels);
  if (!devices.environments.empty()) devices.info = devices.environments.front().device();
  return devices;
}

Toolchains toolchains_of(const FleetSession& session) {
  Toolchains all;
  for (const auto& [component, version] : session.environment.versions) {
    if (component.starts_with(kCompilerPrefix)) all.emplace(component.substr(kCompilerPrefix.size()), version);
  }
  return all;
}

std::vector<std::string> differences_here(const FleetSession& session, const AgentDevices& devices,
                                          const FleetRunOptions& options) {
  std::vector<FleetSolver> solvers;
  FleetEnvironment here = session.environment;
  if (devices.environments.empty()) {
    solvers = solvers_to_compile(session);
    here.variables = options.tune.variables;
    std::erase_if(here.versions, [](const auto& one) { return one.first.starts_with(kCompilerPrefix); });
    const Versions compilers = compilers_here(session.environment.versions);
    here.versions.insert(compilers.begin(), compilers.end());
    for (const auto& [component, version] : kernels_here(session)) here.versions.insert_or_assign(component, version);
  } else {
    const auto listed = list_solvers(*devices.environments.front().executor);
    solvers = solvers_of(listed);
    here = fleet_environment(devices.info, options.tune.variables, versions_of(listed, session.solvers),
                             options.tune.inputs);
    for (const std::string& component : devices.missing_compilers)
      here.versions.insert_or_assign(component, session.environment.versions.at(component));
  }
  auto found = differences(session.environment, here);
  for (std::string& one : solver_differences(session.solvers, solvers)) found.push_back(std::move(one));
  return found;
}

}  // namespace attune
