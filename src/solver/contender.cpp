// SPDX-License-Identifier: MIT
#include "solver/contender.h"

#include <fmt/format.h>

#include <algorithm>

#include "attune/tensor.h"
#include "base/text.h"
#include "core/candidate.h"
#include "ops/op.h"
#include "search/prune.h"
#include "search/weight_group.h"

namespace attune {
namespace {

/// The space in which the config's own choices of parts are the values: whether they are offered is for the parts'
/// solvers to say.
SearchSpace with_choices_of(const SearchSpace& space, const Config& config) {
  SearchSpace result = space;
  for (const Parameter& parameter : space.parameters()) {
    if (parameter.part && config.has(parameter.name))
      result = result.with_values(parameter.name, {config.at(parameter.name)});
  }
  return result;
}

}  // namespace

const Contender* find_contender(std::span<const Contender> contenders, std::string_view solver) {
  const auto found =
      std::find_if(contenders.begin(), contenders.end(), [&](const Contender& one) { return one.solver == solver; });
  return found == contenders.end() ? nullptr : &*found;
}

bool lacks_default(const Contender& contender) {
  return contender.default_config.values().empty() && contender.space.is_listed() && contender.space.size() > 0 &&
         !contender.space.index_of(contender.default_config);
}

std::string candidate_version(const Solver& solver, const Versions& versions) {
  const auto own = versions.find(std::string(solver.id()));
  return own != versions.end() ? own->second : std::string(solver.version());
}

std::optional<std::string> why_unusable(const Candidate& candidate, const Problem& problem, const Contender* contender,
                                        const DeviceInfo& device) {
  if (contender == nullptr) return "no solver of that name is available on this machine: " + candidate.solver;
  if (!contender->support.yes) return candidate.solver + " " + contender->support.reason;
  const bool is_any = names_any_version(candidate);
  if (is_any && candidate.config.values().empty()) return std::nullopt;  // The default config.
  if (!is_any && contender->version != candidate.version)
    return fmt::format("made with {} {}, this machine has {}", candidate.solver, candidate.version, contender->version);
  const SearchSpace& space = contender->space;  // Not copied: a library's list may have 50,000 configs.
  auto why = contender->parts.empty()
                 ? why_outside(space, candidate.config, problem, device)
                 : why_outside(with_choices_of(space, candidate.config), candidate.config, problem, device);
  if (why && contender->invariant.size() > 0 && !why_outside(contender->invariant, candidate.config, problem, device))
    return std::nullopt;
  if (why && !contender->support.reason.empty()) return *why + "; " + contender->support.reason;
  return why;
}

std::optional<std::string> why_unusable(const Candidate& candidate, const Problem& problem,
                                        std::span<const Contender> contenders, const DeviceInfo& device) {
  return why_unusable(candidate, problem, find_contender(contenders, candidate.solver), device);
}

std::optional<std::string> why_unreadable(const Candidate& candidate, std::string_view layout) {
  const std::string_view named = layout_in_cell(layout);
  const std::string read = layout_of(candidate);
  if (read == named) return std::nullopt;
  // A library's own layout has the library's version in its name, behind an @.
  const bool is_known = find_named_layout(named) != nullptr || named.find('@') != std::string_view::npos;
  return fmt::format("its kernel reads weights in the layout '{}', not in '{}'{}", read, shown(named),
                     is_known ? "" : ", which is no known layout");
}

/// The default candidate of the first contender in an order.
template <typename Before>
static std::optional<Candidate> first_default(const Problem& problem, std::span<const Contender> contenders,
                                              Before is_before) {
  const FamilySpec& family = op_of(problem).family();
  const Contender* first = nullptr;
  for (const Contender& one : contenders) {
    if (one.support.yes && !lacks_default(one) && (first == nullptr || is_before(family, one.solver, first->solver)))
      first = &one;
  }
  if (first == nullptr) return std::nullopt;
  return Candidate{first->solver, first->version, first->default_config};
}

bool comes_before(const FamilySpec& family, std::string_view solver, std::string_view other) {
  const auto& order = family.baselines;
  const auto rank = [&](std::string_view id) {
    const auto found = std::find(order.begin(), order.end(), id);
    return found - order.begin() + (found == order.end() && id != family.fallback ? 1 : 0);
  };
  return std::pair(rank(solver), solver) < std::pair(rank(other), other);
}

bool is_baseline_before(const FamilySpec& family, std::string_view solver, std::string_view other) {
  if ((solver == family.stock) != (other == family.stock)) return solver == family.stock;
  return comes_before(family, solver, other);
}

std::optional<Candidate> default_candidate(const Problem& problem, std::span<const Contender> contenders) {
  return first_default(problem, contenders, comes_before);
}

std::optional<Candidate> baseline_candidate(const Problem& problem, std::span<const Contender> contenders) {
  return first_default(problem, contenders, is_baseline_before);
}

}  // namespace attune
