// SPDX-License-Identifier: MIT
#include "pipeline/run/run_results.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "base/error.h"

namespace attune {
namespace {

using VerdictCounts = std::array<size_t, kNumChanges>;

VerdictCounts count_all(const RunResults& results) {
  VerdictCounts counts{};
  for (const auto& of_family : results.verdicts) {
    for (const ChangeResult& one : of_family) ++counts[static_cast<size_t>(one.verdict)];
  }
  return counts;
}

size_t number(const VerdictCounts& counts, Change verdict) { return counts[static_cast<size_t>(verdict)]; }

}  // namespace

void judge_run(RunResults& results, const ChangeOptions& change, int interrupt_status) {
  std::vector<ShapeChange> all;
  for (const FamilyResult& family : results.families) all.insert(all.end(), family.shapes.begin(), family.shapes.end());
  std::vector<ChangeResult> judged = judge(all, change);
  auto next = std::make_move_iterator(judged.begin());
  results.verdicts.clear();
  for (const FamilyResult& family : results.families) {
    const auto end = next + static_cast<std::ptrdiff_t>(family.shapes.size());
    results.verdicts.emplace_back(next, end);
    next = end;
  }
  const VerdictCounts counts = count_all(results);
  const auto is_of_machine = [](const FamilyResult& one) {
    return !one.unwritten.empty() || (one.code && exit_status(*one.code) >= 3);
  };
  const auto has_failed = [](const FamilyResult& one) { return !one.failure.empty(); };
  if (interrupt_status != 0)
    results.status = interrupt_status;
  else if (std::ranges::any_of(results.families, is_of_machine))
    results.status = 3;
  else if (std::ranges::any_of(results.families, has_failed) || number(counts, Change::slower) > 0 ||
           (!all.empty() && number(counts, Change::failed) == all.size()))
    results.status = 1;
  else
    results.status = 0;
}

}  // namespace attune
