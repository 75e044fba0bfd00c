// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/binary.h"
#include "measure/announcer.h"
#include "solver/contender.h"
#include "solver/registry.h"
#include "solver/weight_packing.h"

namespace attune {

/// Which configs the spaces of contenders hold: all, or the limited set of request::Open::candidates.
enum class SpaceListing : uint8_t { whole, limited };

/// The solvers of a registry, opened on one device: their reports for problems, and their backends. A library is opened
/// when the first problem needs it, and stays open until close(). Not thread-safe.
class OpenedSolvers {
 public:
  using Candidates = std::vector<Candidate>;
  /// All arguments must outlive it. `announcer` receives the slot of each library (kLibrarySlots) before it is opened
  /// and asked; it may be null.
  OpenedSolvers(Device& device, const Registry& registry, Announcer* announcer);
  /// Sets the solvers, by their place in the registry, that contenders() must not open, and the reasons.
  void skip(std::map<uint32_t, std::string> solvers) { skipped_ = std::move(solvers); }
  /// Sets, by compiler, the toolchains of stored kernels; empty: any. A solver whose compiler is missing on this
  /// machine computes with them, and states the toolchain, if there is one, among its versions. Without them it does
  /// not support a problem: measured kernels are compiled here. Set before the first problem.
  void set_stored_toolchains(Toolchains all) { stored_toolchains_ = std::move(all); }

  /// Returns every solver's report for a problem, in the registry's order. A solver that cannot be opened or asked does
  /// not support it. `candidates`: see request::Open. If the announcer stops the request, the remaining solvers are
  /// missing.
  std::vector<Contender> contenders(const Problem& problem, const Candidates* candidates = nullptr);
  /// The same for one solver, without an announcement.
  Contender contender(const SolverEntry& entry, const Problem& problem, const Candidates* candidates = nullptr);
  /// The packing of each layout of weights that contenders name, by name and without `plain`. A contender whose layouts
  /// cannot be packed no longer supports the problem. The solvers must stay open while a packing is used.
  std::map<std::string, WeightPacking> packings(const Problem& problem, std::vector<Contender>& contenders);
  /// Prepares a candidate of any solver, with its parts. `contender`: the solver's report, with the spaces of
  /// `listing`; null: no report. `binaries`: the results of all_compile_tasks(). Throws unavailable with the reason of
  /// why_unusable(), and any exception of the backends.
  std::unique_ptr<Plan> prepare(const Problem& problem, const Candidate& candidate, const Contender* contender,
                                std::span<const Binary> binaries, SpaceListing listing = SpaceListing::whole);
  /// Requires: the solver was opened and supports a problem that it was asked for since.
  Backend& backend(std::string_view solver);
  /// Closes all libraries. Requires: their plans and packings are gone.
  void close() { libraries_.clear(); }

 private:
  /// A solver opened on the device, or the reason why it could not be opened.
  struct Library {
    std::unique_ptr<Backend> backend;
    std::string unavailable;
    Versions builds;  ///< `build.<library>` of the libraries it calls.
  };
  Library& library(const SolverEntry& entry);
  std::optional<std::string> why_refused(const Problem& problem, const Candidate& candidate, const Contender* contender,
                                         SpaceListing listing);
  void require_compilers(const std::vector<CompileTask>& tasks, Contender& contender) const;
  std::unique_ptr<Plan> prepare_part(const Problem& part, const Candidate& candidate, std::span<const Binary> binaries);

  Device& device_;
  const Registry& registry_;
  Announcer* announcer_;
  std::map<uint32_t, std::string> skipped_;
  Toolchains stored_toolchains_;
  std::map<std::string, Library, std::less<>> libraries_;  ///< By solver id.
};

}  // namespace attune
