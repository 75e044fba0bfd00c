// SPDX-License-Identifier: MIT
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/op.h"
#include "solver/registry.h"

namespace attune {

/// A solver module of this build, as declared by attune_add_solver().
struct ModuleSpec {
  std::string_view name;       ///< `openblas`: file attune_solver_openblas.so.
  std::string_view solver_id;  ///< Solver listed as unavailable when the module cannot be opened.
  std::string_view title;
  /// `VAR=value@level` entries; the first whose x86-64 level (`v4`, `v3`, …; none: always) this CPU has is used.
  std::vector<std::string_view> load_variables;
};

/// HostProcess::program: sets the modules' load variables that the user has not set, then opens each module; must run
/// before any other thread starts. HostProcess::application: only registers the modules; each is opened when it is
/// first asked for. Each module calls its own library: RTLD_LOCAL and RTLD_DEEPBIND (not under sanitizers, which forbid
/// it). Modules stay open for the life of the process; one that cannot be opened is unavailable with the loader's
/// reason. Two modules that need different values of one variable are a bug. Throws like registry().
void load_modules(std::span<const ModuleSpec> specs, HostProcess host, Registry& registry);

/// Folders that are searched for modules, in order. `host` decides whether an ATTUNE_MODULES that is no readable folder
/// throws invalid_input or is a notice.
std::vector<std::filesystem::path> module_folders(HostProcess host, std::vector<std::string>& notices);

/// The entry points of an opened module.
struct ModuleEntry {
  void (*register_solvers)(Registry&) = nullptr;
  void (*register_ops)(void (*add)(const Op&)) = nullptr;  ///< Null for a module without ops.
  std::string error;                                       ///< Why the module cannot be used; empty: it can.
};
/// Opens a module for the life of the process.
ModuleEntry open_module_file(const std::string& file);

/// x86-64 level of this CPU: `v2`, `v3`, `v4`.
std::string_view cpu_level() noexcept;

}  // namespace attune
