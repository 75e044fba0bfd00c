// SPDX-License-Identifier: MIT
#include "dispatch/table/lookup.h"

#include "attune/error.h"
#include "base/text.h"
#include "dispatch/table/lookup_steps.h"

namespace attune {
namespace {

LookupSteps steps_of(const Problem& problem, const FamilySpec& family) {
  if (!family.pads_m) return {false, 0, 0};
  return {true, problem.integer("m"), problem.integer("n")};
}

}  // namespace

LookupResult look_up(const Table& table, const Problem& problem, const DeviceInfo& device, const RowCheck& usable,
                     const TableGroups* groups) {
  LookupResult result;
  /// Returns false if the lookup goes on with the next step.
  const auto serves = [&](LookupStep step) {
    std::optional<Candidate> candidate;
    if (step.row) {
      try {
        candidate = Candidate::parse(step.row->kernel_name);
        step.remark = usable(*candidate).value_or("");
      } catch (const Error&) {
        step.remark = "this program has no such kernel: '" + shown(step.row->kernel_name) + "'";
      }
    } else {
      step.remark = "no row";
    }
    const bool found = step.row && step.remark.empty();
    result.steps.push_back(std::move(step));
    if (!found) return false;
    result.match = result.steps.back().match;
    result.row = result.steps.back().row;
    result.candidate = std::move(candidate);
    return true;
  };
  for (const LookupSteps::Step& wanted : steps_of(problem, table.family())) {
    // The exact step keeps the problem as it is: M may not even be an attribute.
    const Problem key = wanted.match == Match::exact ? problem : problem.with("m", std::to_string(wanted.m));
    const TableRow* row = table.find(key, device.gfx, device.num_units, device.model);
    if (serves({.match = wanted.match, .key = key, .row = row})) return result;
  }
  if (groups == nullptr) return result;
  for (const TableGroups::PredictedRow& one : groups->predict(problem)) {
    const Problem key = problem.with("m", one.row->problem.text("m"));
    LookupStep step{.match = Match::predicted, .key = key, .row = one.row, .regret_bound = one.regret};
    if (!one.is_allowed) {
      step.remark = "the bound is above ATTUNE_MAX_REGRET";
      result.steps.push_back(std::move(step));
    } else if (serves(std::move(step))) {
      return result;
    }
  }
  return result;
}

}  // namespace attune
