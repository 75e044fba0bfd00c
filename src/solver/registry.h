// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "solver/solver.h"

namespace attune {

struct ModuleSpec;

/// Whose process it is. In an application's the environment is not ours: the load variables are left as they are, and
/// what a library makes of that is in its versions.
enum class Surroundings : uint8_t { program, application };

/// A solver this build knows and whether it can be used here.
struct SolverEntry {
  std::string id, title;
  const Solver* solver = nullptr;  ///< Null when unavailable.
  std::string unavailable;         ///< The loader's reason.
  std::string module;              ///< File of the module; empty when linked in.
};

/// The solvers of this process. Filled once at start, then read from any thread; owns the solvers and keeps their
/// modules open for the life of the process.
class Registry {
 public:
  /// Called by a solver's registration function.
  void add(std::unique_ptr<Solver> solver);
  void add_unavailable(std::string id, std::string title, std::string reason);

  std::span<const SolverEntry> entries() const noexcept { return entries_; }
  /// Null when unknown or unavailable.
  const Solver* find(std::string_view id) const noexcept;

 private:
  friend void load_modules(std::span<const ModuleSpec> specs, Surroundings surroundings, Registry& registry);
  std::vector<std::unique_ptr<Solver>> owned_;
  std::vector<SolverEntry> entries_;
  std::string module_;  ///< Of the registration under way.
};

/// Interface version a module must report: `extern "C" int attune_solver_interface()`. A module of another build is
/// unavailable with that reason, not a crash.
inline constexpr int kSolverInterface = 2;

/// Defined by the generated list (cmake/AttuneSolver.cmake): link attune_solvers. Sets the load variables, opens every
/// module and calls every linked-in registration, as the build generated them. Modules are looked for in
/// $ATTUNE_MODULES (a folder), beside the program or library in `modules/`, then in the installed folder. The first
/// call does the work; before any other thread is started, if it is the program's. The second returns the same object.
const Registry& registry(Surroundings surroundings = Surroundings::program);

}  // namespace attune
