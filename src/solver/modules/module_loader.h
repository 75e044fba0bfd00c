// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "solver/registry.h"

namespace attune {

/// A solver module of this build, as declared by attune_add_solver(). Its solvers compute on the host.
struct ModuleSpec {
  std::string_view name;  ///< `openblas`: file attune_solver_openblas.so.
  /// Solvers that the module registers, one for each op that it computes; listed as unavailable when the module cannot
  /// be opened.
  std::vector<std::string_view> solver_ids;
  std::string_view title;
  /// `VAR=value@level` entries; the first whose x86-64 level (`v4`, `v3`, …; none: always) this CPU has is used.
  std::vector<std::string_view> load_variables;
  /// Whether its library starts a thread for each core when it is loaded. Such a module is not opened where the system
  /// refuses that many threads, where the library would end the process, nor without memory to work in, for which it
  /// would wait without end.
  bool starts_threads = false;
};

/// HostProcess::program: sets the modules' load variables that the user has not set, then opens each module; must run
/// before any other thread starts. HostProcess::worker: sets the variables, and takes unrecorded settings out of the
/// environment for good; a module is opened when it is first asked for. HostProcess::application: only registers the
/// modules. Each module calls its own library (open_separately()). Modules stay open for the life of the
/// process; one that cannot be opened is unavailable with the loader's reason. Two modules that need different values
/// of one variable are a bug. Throws like registry().
void load_modules(std::span<const ModuleSpec> specs, HostProcess host, Registry& registry);

/// x86-64 level of this CPU: `v2`, `v3`, `v4`.
std::string_view cpu_level() noexcept;

}  // namespace attune
