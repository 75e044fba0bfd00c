// SPDX-License-Identifier: MIT
#include "dispatch/lookup.h"

#include "attune/error.h"
#include "base/text.h"
#include "dispatch/padding.h"

namespace attune {
namespace {

struct Target {
  Match match;
  Problem problem;
};

std::vector<Target> targets(const Problem& problem, const FamilySpec& family) {
  std::vector<Target> all = {{Match::exact, problem}};
  if (!family.pads_m) return all;
  const int64_t m = problem.integer("m"), n = problem.integer("n");
  all.push_back({Match::padded_fine, problem.with("m", std::to_string(padded_m_fine(m)))});
  all.push_back({Match::padded_coarse, problem.with("m", std::to_string(padded_m_coarse(m, n)))});
  return all;
}

}  // namespace

LookupResult look_up(const Table& table, const Problem& problem, const DeviceInfo& device, const RowCheck& usable) {
  LookupResult result;
  for (const Target& target : targets(problem, table.family())) {
    if (!result.steps.empty() && result.steps.back().key == target.problem) continue;
    LookupStep step{target.match, target.problem,
                    table.find(target.problem, device.gfx, device.num_units, device.model), ""};
    std::optional<Candidate> candidate;
    if (step.row) {
      try {
        candidate = Candidate::parse(step.row->kernel_name);
        step.remark = usable(*candidate).value_or("");
      } catch (const Error&) {
        step.remark = "its kernel is not one of this program: '" + shown(step.row->kernel_name) + "'";
      }
    } else {
      step.remark = "no row";
    }
    const bool found = step.row && step.remark.empty();
    result.steps.push_back(std::move(step));
    if (!found) continue;
    result.match = target.match;
    result.row = result.steps.back().row;
    result.candidate = std::move(candidate);
    return result;
  }
  return result;
}

}  // namespace attune
