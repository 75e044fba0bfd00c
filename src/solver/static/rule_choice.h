// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/space/search_space.h"
#include "solver/registry.h"

namespace attune {

/// The rule set of a search whose user names none.
inline constexpr std::string_view kDefaultRuleSet = "attune";

/// What a user says about the configs to try: `--rules` and `--where`. A value.
struct RuleChoice {
  struct Where {
    std::string solver, expression;
    bool operator==(const Where&) const = default;
  };
  std::string set{kDefaultRuleSet};
  std::vector<Where> where;

  /// Part of a search procedure's name: ` rules=tune_gemm where=triton.gemm:BLOCK_SIZE_M<=128`; empty for the default.
  std::string text() const;
  /// Returns a solver's space with the chosen set and the user's rules. Spaces without sets keep all their rules.
  SearchSpace apply(const SearchSpace& space, std::string_view solver) const;
  bool operator==(const RuleChoice&) const = default;
};

/// Names that `--rules` accepts: the default, and the sets of a registry's solvers.
std::vector<std::string> rule_set_names(const Registry& registry);

/// Parses `--rules` and each `--where`, `SOLVER: EXPRESSION`. Throws invalid_input for an unknown set or solver and for
/// a wrong expression.
RuleChoice parse_rule_choice(const std::string& set, std::span<const std::string> where, const Registry& registry);

/// Throws invalid_input for a rule of the user that cannot be evaluated for a problem on a device, as far as the
/// description of the device tells: for solvers with a Solver::static_space(). Runs nothing.
void check_rule_choice(const RuleChoice& choice, const Registry& registry, const Problem& problem,
                       const DeviceInfo& device);

}  // namespace attune
