// SPDX-License-Identifier: MIT
#include "search/choice.h"

#include <algorithm>
#include <cmath>

namespace attune {
namespace {

/// The first range with enough samples of the slot (paired with the baseline), else all rounds.
Rounds rounds_with(const Field& field, const Evidence& evidence, Slot slot, Slot baseline) {
  for (const auto& rounds : evidence.rounds) {
    if (field.samples().log_ratios(slot, baseline, rounds).size() >= SampleTable::kMinClean) return rounds;
  }
  return {};
}

}  // namespace

Slot choose(const Field& field, std::span<const Slot> tied, Rounds rounds) {
  if (const auto incumbent = field.incumbent(); incumbent && contains(tied, *incumbent)) return *incumbent;
  return field.best(tied, rounds);
}

FinalistResult figures_of(const Field& field, const Evidence& evidence, Slot slot) {
  const auto& samples = field.samples();
  const Slot baseline = field.baseline().value_or(slot);
  const Rounds rounds = rounds_with(field, evidence, slot, baseline);
  FinalistResult result;
  result.slot = slot;
  const double us = samples.median_us(slot, rounds);
  result.comparison.us = std::isfinite(us) ? us : 0;
  result.comparison.num_clean = samples.num_clean_pairs(slot, baseline, rounds);
  if (slot != baseline) set_ratio(result.comparison, samples.log_ratios(baseline, slot, rounds));
  return result;
}

void fill_figures(const Field& field, const Evidence& evidence, ContestResult& result) {
  result.finalists.clear();
  for (const Slot slot : evidence.finalists) result.finalists.push_back(figures_of(field, evidence, slot));
  result.comparison = figures_of(field, evidence, result.winner).comparison;
  if (!field.baseline()) {
    result.baseline_us = 0;
    return;
  }
  // Uses the rounds of the winner's time, so that the two times are comparable.
  const Rounds rounds = rounds_with(field, evidence, result.winner, result.baseline);
  const double us = field.samples().median_us(result.baseline, rounds);
  result.baseline_us = std::isfinite(us) ? us : 0;
  for (const Slot slot : {result.winner, result.baseline}) {
    if (field.samples().num_clean(slot, rounds) < SampleTable::kMinClean) result.noisy = true;
  }
}

}  // namespace attune
