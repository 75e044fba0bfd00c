// SPDX-License-Identifier: MIT
#include "solver/static/rule_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "search/strategy/space_rules.h"
#include "solver/static/static_contenders.h"

namespace attune {
namespace {

constexpr std::string_view kWhere = "where";

RuleChoice::Where parse_where(const std::string& text, const Registry& registry) {
  const size_t colon = text.find(':');
  if (colon == std::string::npos)
    fail(ErrorCode::invalid_input,
         "--where expects a solver and a rule, as in \"triton.gemm: BLOCK_SIZE_M <= 128\"; got '{}'", shown(text));
  RuleChoice::Where one{std::string(trim(std::string_view(text).substr(0, colon))),
                        std::string(trim(std::string_view(text).substr(colon + 1)))};
  const auto entries = registry.entries();
  if (std::ranges::none_of(entries, [&](const SolverEntry& entry) { return entry.id == one.solver; }))
    fail(ErrorCode::invalid_input, "--where: no solver has this name, see `attune list solvers`: '{}'",
         shown(one.solver));
  try {
    Expression::parse(one.expression);
  } catch (Error& error) {
    error.add_context("--where");
    throw;
  }
  return one;
}

}  // namespace

std::string RuleChoice::text() const {
  std::string text;
  if (set != kDefaultRuleSet) text += " rules=" + set;
  for (const Where& one : where) text += fmt::format(" where={}:{}", one.solver, one.expression);
  return text;
}

SearchSpace RuleChoice::apply(const SearchSpace& space, std::string_view solver) const {
  std::vector<Rule> more;
  for (const Where& one : where) {
    if (one.solver == solver) more.push_back({std::string(kWhere), one.expression, "--where"});
  }
  if (space.size() == 0 || (more.empty() && space.rule_sets().empty())) return space;
  return space.with_rule_set(set, std::move(more));
}

std::vector<std::string> rule_set_names(const Registry& registry) {
  std::vector<std::string> names{std::string(kDefaultRuleSet)};
  for (const SolverEntry& entry : registry.entries()) {
    const StaticSpace* const stated = entry.solver == nullptr ? nullptr : entry.solver->static_space();
    if (stated == nullptr) continue;
    for (std::string& name : stated->rule_sets()) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
  }
  return names;
}

RuleChoice parse_rule_choice(const std::string& set, std::span<const std::string> where, const Registry& registry) {
  RuleChoice choice{.set = set, .where = {}};
  if (const auto names = rule_set_names(registry); std::ranges::find(names, set) == names.end())
    fail(ErrorCode::invalid_input, "--rules expects one of {}, got '{}'", join(names, ", "), shown(set));
  for (const std::string& text : where) choice.where.push_back(parse_where(text, registry));
  return choice;
}

void check_rule_choice(const RuleChoice& choice, const Registry& registry, const Problem& problem,
                       const DeviceInfo& device) {
  for (const RuleChoice::Where& one : choice.where) {
    const Solver* const solver = registry.find(one.solver);
    SearchSpace space;  // Of a library, whose attributes are known on the device only.
    if (solver != nullptr && solver->static_space() != nullptr) {
      const Contender contender = static_contender(*solver, problem, device);
      if (!contender.support.yes) continue;
      const auto parameters = contender.space.parameters();
      if (!parameters.empty()) space = SearchSpace::product({parameters.begin(), parameters.end()}, {});
    }
    space = space.with_rule_set(kWhere, {{std::string(kWhere), one.expression, {}}});
    try {
      const SpaceRules rules(space, problem, device);
      if (space.size() > 0) static_cast<void>(rules.rejects(0));
    } catch (Error& error) {
      error.add_context("--where");
      throw;
    }
  }
}

}  // namespace attune
