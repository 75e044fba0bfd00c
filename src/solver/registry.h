// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "solver/solver.h"
#include "solver/threads/team_size.h"

namespace attune {

struct ModuleSpec;

/// Owner of the process. In an application Attune does not change the environment: load variables stay as they are, and
/// their effect on a library is part of its versions. A worker is a process of the program that opens a module when a
/// candidate needs it: a worker computes with few of them, and is started often.
enum class HostProcess : uint8_t { program, worker, application };

/// Opens the driver and the library without which a solver runs nowhere on this machine. Throws unavailable with the
/// loader's reason.
using OpenLibraries = void (*)();

/// A solver of this build, and whether it can be used on this machine.
struct SolverEntry {
  std::string id, title;
  const Solver* solver = nullptr;  ///< Null when unavailable, or until an application or a worker opens its module.
  std::string unavailable;         ///< The loader's reason; empty if available.
  std::string module;              ///< File of the module; empty when linked in.
  /// The only kind of device that it computes on, known before its module is opened; empty: see Solver::supports().
  std::string device_kind;
  OpenLibraries open_libraries = nullptr;  ///< Null: what the solver needs was opened with it.
};

/// The solvers of this process. Filled once at start, then read from any thread; owns the solvers and keeps their
/// modules open for the life of the process. In an application and in a worker a module is opened when find() first
/// asks for its solver: an unused library is never loaded.
class Registry {
 public:
  /// Called by a solver's registration function. `open_libraries`: of a solver whose libraries wait for a device; only
  /// why_unavailable() calls it.
  void add(std::unique_ptr<Solver> solver, OpenLibraries open_libraries = nullptr);
  void add_unavailable(std::string id, std::string title, std::string reason);

  std::span<const SolverEntry> entries() const noexcept { return entries_; }
  /// Null when unknown or unavailable. Thread-safe; opens the solver's module on demand.
  const Solver* find(std::string_view id) const noexcept;
  /// Why an entry's solver cannot be used on this machine; empty: it can. May open drivers and libraries, which
  /// nothing else does before a device is asked for.
  static std::string why_unavailable(const SolverEntry& entry);
  const TeamSizes& team_sizes() const noexcept { return team_sizes_; }
  /// Anomalies of the modules' folders, one sentence each.
  std::span<const std::string> notices() const noexcept { return notices_; }

 private:
  friend void load_modules(std::span<const ModuleSpec> specs, HostProcess host, Registry& registry);
  /// Opens a module for all entries that name it.
  void open_module(const std::string& file);
  void add_registered();

  std::vector<std::unique_ptr<Solver>> owned_;
  std::vector<SolverEntry> entries_;
  std::vector<std::string> notices_;
  std::string module_;                        ///< Module that is being registered.
  bool is_opening_ = false;                   ///< Its entries are there: entries() stays valid.
  std::vector<std::string> thread_starters_;  ///< Files of the modules with ModuleSpec::starts_threads.
  TeamSizes team_sizes_ = TeamSizes::make();
};

/// Adds a solver to those of this process. Call it before the first registry(). Throws invalid_input when it comes too
/// late. Thread-safe.
void register_solver(std::unique_ptr<Solver> solver);

/// Interface version that a module must report: `extern "C" int attune_solver_interface()`. A module with another
/// version is unavailable with that reason, instead of crashing.
inline constexpr int kSolverInterface = 18;

/// Returns the registry. Defined by the generated list (cmake/AttuneSolver.cmake): link attune_solvers. The first call
/// calls every linked-in registration. In the program and in a worker it sets the load variables, and must precede any
/// other thread. In the program it opens every module. Later calls return the same object. Modules are
/// searched in $ATTUNE_MODULES (a folder), beside the program or library in `modules/`, then in the installed folder; a
/// module that other users could have written is unavailable. Op modules (solver/modules/op_modules.h) of these folders
/// are opened too, always. In the program, throws invalid_input when ATTUNE_MODULES is not a readable folder; an
/// application gets a notice and the usual folders.
const Registry& registry(HostProcess host = HostProcess::program);

}  // namespace attune
