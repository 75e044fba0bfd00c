// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "solver/registry.h"

namespace attune {

/// A solver module of this build, as attune_add_solver() declared it.
struct ModuleSpec {
  std::string_view name;       ///< `openblas`: file attune_solver_openblas.so.
  std::string_view solver_id;  ///< Listed as unavailable when the module does not open.
  std::string_view title;
  /// `VAR=value@level` entries; the first whose x86-64 level (`v4`, `v3`, …; none = always) this CPU has is taken.
  std::vector<std::string_view> load_variables;
};

/// HostProcess::program: sets the modules' load variables that the user has not set, then opens each module; must run
/// before any other thread starts. An application's are entered only, to be opened when first asked for. Each calls its
/// own library: RTLD_LOCAL and RTLD_DEEPBIND (not under sanitizers, which forbid it). Modules stay open for the life of
/// the process; one that does not open is unavailable with the loader's reason. Two modules that want different values
/// of one variable are a bug. Throws as registry().
void load_modules(std::span<const ModuleSpec> specs, HostProcess host, Registry& registry);

/// x86-64 level of this CPU: `v2`, `v3`, `v4`.
std::string_view cpu_level() noexcept;

}  // namespace attune
