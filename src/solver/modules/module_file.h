// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "compile/compiler.h"
#include "device/device_kind.h"
#include "ops/op.h"
#include "solver/registry.h"

namespace attune {

/// Folders that are searched for modules, in order. `host` decides whether an ATTUNE_MODULES that is no readable folder
/// throws invalid_input or is a notice.
std::vector<std::filesystem::path> module_folders(HostProcess host, std::vector<std::string>& notices);

/// Where a build or an installation has its modules, whatever the environment says; not all need exist.
std::vector<std::filesystem::path> own_module_folders();

/// The entry points of an opened module.
struct ModuleEntry {
  void (*register_solvers)(Registry&) = nullptr;
  void (*register_ops)(void (*add)(const Op&)) = nullptr;              ///< Null for a module without ops.
  void (*register_devices)(void (*add)(const DeviceKind&)) = nullptr;  ///< Null for a module without devices.
  void (*register_compilers)(void (*add)(const Compiler&)) = nullptr;  ///< Null for a module without compilers.
  std::string error;  ///< Why the module cannot be used; empty: it can.
};
/// Calls a module's registration. Returns what it throws, and the file; empty if nothing.
std::string why_failed(const std::string& file, const std::function<void()>& registration);
/// Registers a module's ops, devices and compilers, or none of them. Returns what a registration throws, and the file;
/// empty if nothing. Not thread-safe.
std::string register_parts(const std::string& file, const ModuleEntry& entry);
/// Opens a module for the life of the process.
ModuleEntry open_module_file(const std::string& file);

}  // namespace attune
