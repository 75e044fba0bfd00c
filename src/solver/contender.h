// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/problem.h"
#include "core/candidate.h"
#include "core/device_info.h"
#include "core/space/search_space.h"
#include "ops/family.h"
#include "solver/solver.h"

namespace attune {

/// A solver opened for one problem on one device, as data.
struct Contender {
  /// Solver id such as `onednn.gemm`, and version such as `1+2.6.3`; with the config they make a Candidate.
  std::string solver, version;
  Versions versions;
  Support support;
  SearchSpace space;  ///< Empty when not supported.
  Config default_config;
  std::vector<Config> recommended;  ///< Backend::recommended().
  SearchSpace invariant;            ///< Backend::invariant_space().
  std::vector<Problem> parts;       ///< Solver::parts().
  bool operator==(const Contender&) const = default;
};

/// Why a candidate cannot run for the problem of the contenders; nothing if it can. Checks, in this order: the solver
/// is among the contenders, it supports the problem, its version is the candidate's (unless that is kAnyVersion), the
/// config is one of its space or of its invariant space. The candidates of its parts are checked where they are
/// prepared, the layout of the weights by why_unreadable(). Cost of why_outside().
std::optional<std::string> why_unusable(const Candidate& candidate, const Problem& problem,
                                        std::span<const Contender> contenders, const DeviceInfo& device);
/// The same for the contender of the candidate's solver; null: there is none.
std::optional<std::string> why_unusable(const Candidate& candidate, const Problem& problem, const Contender* contender,
                                        const DeviceInfo& device);

/// Why a candidate's kernel cannot read weights in the layout that a table row or a caller names, empty for `plain`;
/// nothing if it can. A row that names another layout than its kernel reads serves nobody.
std::optional<std::string> why_unreadable(const Candidate& candidate, std::string_view layout);

/// The version that a solver's candidates carry: its backend's, which has the library's in it, else its own.
std::string candidate_version(const Solver& solver, const Versions& versions);

/// Whether a solver that supports the problem has no default config: its configs are the user's own.
bool lacks_default(const Contender& contender);

/// The contender of a solver, null when it is not among them.
const Contender* find_contender(std::span<const Contender> contenders, std::string_view solver);

/// Whether one solver comes before another where the first that supports a problem is taken: the baselines of the op's
/// family in their order, its fallback, then the others by id.
bool comes_before(const FamilySpec& family, std::string_view solver, std::string_view other);

/// Whether one solver comes before another as the baseline of a tuning: the family's stock, then as comes_before()
/// says.
bool is_baseline_before(const FamilySpec& family, std::string_view solver, std::string_view other);

/// The default candidate of the solver that comes_before() all others which support the problem: what an application
/// gets without tables. Nothing when no solver supports the problem.
std::optional<Candidate> default_candidate(const Problem& problem, std::span<const Contender> contenders);

/// The default candidate that is_baseline_before() all others: what rows are compared with.
std::optional<Candidate> baseline_candidate(const Problem& problem, std::span<const Contender> contenders);

}  // namespace attune
