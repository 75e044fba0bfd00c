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
enum class HostProcess : uint8_t { program, application };

/// A solver this build knows and whether it can be used here.
struct SolverEntry {
  std::string id, title;
  const Solver* solver = nullptr;  ///< Null when unavailable, or when its module is not opened yet (application).
  std::string unavailable;         ///< The loader's reason.
  std::string module;              ///< File of the module; empty when linked in.
};

/// The solvers of this process. Filled once at start, then read from any thread; owns the solvers and keeps their
/// modules open for the life of the process. In an application a module is opened when find() is first asked for its
/// solver: a library that is never used loads nothing.
class Registry {
 public:
  /// Called by a solver's registration function.
  void add(std::unique_ptr<Solver> solver);
  void add_unavailable(std::string id, std::string title, std::string reason);

  std::span<const SolverEntry> entries() const noexcept { return entries_; }
  /// Null when unknown or unavailable. Any thread; opens the solver's module if that is not done yet.
  const Solver* find(std::string_view id) const noexcept;
  /// What is odd about the modules' folders, a sentence each.
  std::span<const std::string> notices() const noexcept { return notices_; }

 private:
  friend void load_modules(std::span<const ModuleSpec> specs, HostProcess host, Registry& registry);
  void open_module(SolverEntry& entry);

  std::vector<std::unique_ptr<Solver>> owned_;
  std::vector<SolverEntry> entries_;
  std::vector<std::string> notices_;
  std::string module_;  ///< Of the registration under way.
};

/// Interface version a module must report: `extern "C" int attune_solver_interface()`. A module of another build is
/// unavailable with that reason, not a crash.
inline constexpr int kSolverInterface = 2;

/// Defined by the generated list (cmake/AttuneSolver.cmake): link attune_solvers. Sets the load variables and opens
/// every module (in an application neither, see Registry), and calls every linked-in registration, as the build
/// generated them. Modules are looked for in $ATTUNE_MODULES (a folder), beside the program or library in `modules/`,
/// then in the installed folder; one that others could have written is unavailable. The first call does the work;
/// before any other thread is started, if it is the program's. The second returns the same object. Throws
/// invalid_input, in the program, when ATTUNE_MODULES names no folder that can be read; an application gets a notice
/// and the usual folders.
const Registry& registry(HostProcess host = HostProcess::program);

}  // namespace attune
