// SPDX-License-Identifier: MIT
#include "worker/worker_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <span>
#include <string_view>

#include "attune/version.h"
#include "base/text.h"
#include "device/device_kind.h"
#include "device/devices.h"
#include "device/environment_threads.h"
#include "solver/modules/library_settings.h"
#include "solver/registry.h"
#include "worker/near_cores.h"

extern char** environ;

namespace attune {
namespace {

/// Variables that a worker inherits, with recorded_settings(). A name that ends in `_` is a prefix.
constexpr std::array<std::string_view, 11> kPassedOn = {
    "PATH",    "LD_LIBRARY_PATH", "HOME",          "LANG",         "LC_ALL",      "XDG_",
    "ATTUNE_", "ASAN_OPTIONS",    "UBSAN_OPTIONS", "TSAN_OPTIONS", "LSAN_OPTIONS"};

bool is_one_of(std::string_view name, std::span<const std::string_view> variables) {
  return std::ranges::any_of(
      variables, [&](std::string_view one) { return one.ends_with('_') ? name.starts_with(one) : name == one; });
}

/// Includes the variables of all device kinds: a worker of one device may depend on another's driver, as a solver's
/// module does.
bool is_passed_on(std::string_view name) {
  return is_one_of(name, kPassedOn) || is_one_of(name, recorded_settings()) ||
         std::ranges::any_of(device_kinds(), [&](const DeviceKind& kind) { return is_one_of(name, kind.variables); });
}

/// Whether the variable holds paths, which must be absolute because a worker has a folder of its own.
bool names_paths(std::string_view name) {
  return name == "ATTUNE_MODULES" || name == "ATTUNE_HOME" || name == "ATTUNE_CACHE" || name == "ATTUNE_FAKE_FAULTS" ||
         name == "ATTUNE_TORCH_OPERATORS" || name == "LD_LIBRARY_PATH";
}

/// Makes the relative ones of colon-separated paths absolute.
std::string absolute_paths(const std::string& paths) {
  std::vector<std::string> absolute;
  for (const auto path : split(paths, ':')) {
    const std::string one(path);
    absolute.push_back(one.empty() || one.starts_with('/') ? one : std::filesystem::absolute(one).string());
  }
  return join(absolute, ":");
}

/// Share of a device's memory that a worker on standby may take. The tuner leaves more than that free.
constexpr double kSpareShare = 1.0 / 16;

/// Lets the worker see only its device and run near it. A process sets up a driver for each device that it sees, and a
/// library may choose among them. If the device does not exist, nothing is changed and the worker reports it under its
/// name.
void place_at_device(WorkerOptions& options, const std::filesystem::path& root) {
  const std::string id = options.device;
  const DeviceKind* const kind = find_device_kind(id);
  if (kind == nullptr) return;
  const auto listed = list_devices(id);
  const auto info = std::ranges::find(listed, id, &DeviceInfo::id);
  if (info == listed.end()) return;
  options.spare = kind->idle_worker_bytes > 0 &&
                  static_cast<double>(kind->idle_worker_bytes) <= kSpareShare * static_cast<double>(info->memory_bytes);
  if (kind->pci_address != nullptr) {
    const std::vector<int> cores = cores_near(kind->pci_address(id), root);
    options.cores.assign(cores.begin(), cores.end());
  }
  const std::string alone = kind->visible_name != nullptr ? kind->visible_name(id) : std::string();
  if (alone.empty()) return;
  options.environment[std::string(kind->visibility_variable)] = alone;
  options.device = id.substr(0, id.find(':')) + ":0";
  options.name = id;
}

}  // namespace

const std::string& users_name(const WorkerOptions& options) {
  return options.name.empty() ? options.device : options.name;
}

std::string in_users_words(std::string said, const WorkerOptions& options) {
  const std::string &own = options.device, &known = users_name(options);
  for (size_t at = said.find(own); at != std::string::npos; at = said.find(own, at)) {
    const size_t end = at + own.size();
    const bool is_longer = end < said.size() && std::isdigit(static_cast<unsigned char>(said[end])) != 0;
    if (!is_longer) said.replace(at, own.size(), known);
    at += is_longer ? own.size() : known.size();
  }
  return said;
}

std::string build_name() { return fmt::format("{}/{}", kVersion, kSolverInterface); }

WorkerOptions worker_options(const std::string& device, Strays* strays, const std::filesystem::path& root) {
  WorkerOptions options;
  // The running executable, even if its file has been replaced since.
  options.command = {"/proc/self/exe", "worker"};
  options.build = build_name();
  options.device = device;
  options.strays = strays;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos || !is_passed_on(text.substr(0, equals))) continue;
    const std::string name(text.substr(0, equals)), value(text.substr(equals + 1));
    options.environment[name] = names_paths(name) ? absolute_paths(value) : value;
  }
  // The worker does not see OpenMP's variables; it gets their limit in this one.
  if (const int64_t threads = environment_threads().threads; threads > 0)
    options.environment["ATTUNE_THREADS"] = std::to_string(threads);
  place_at_device(options, root);
  return options;
}

}  // namespace attune
