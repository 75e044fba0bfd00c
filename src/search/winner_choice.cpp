// SPDX-License-Identifier: MIT
#include "search/winner_choice.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace attune {
namespace {

/// Openings with enough samples of the slot, paired with the baseline; else the finals, as one opening; else all
/// rounds.
std::vector<Rounds> openings_with(const Contestants& contestants, const Evidence& evidence, Slot slot, Slot baseline) {
  size_t num_pairs = 0;
  for (const auto& group : contestants.samples().log_ratios(slot, baseline, evidence.openings))
    num_pairs += group.size();
  if (num_pairs >= SampleTable::kMinClean) return evidence.openings;
  const bool in_finals =
      contestants.samples().log_ratios(slot, baseline, evidence.finals).size() >= SampleTable::kMinClean;
  return {in_finals ? evidence.finals : Rounds{}};
}

double usable_us(double us) { return std::isfinite(us) ? us : 0; }

}  // namespace

Slot choose(const Contestants& contestants, std::span<const Slot> tied, Rounds rounds) {
  if (const auto incumbent = contestants.incumbent(); incumbent && contains(tied, *incumbent)) return *incumbent;
  return contestants.best(tied, rounds);
}

FinalistResult figures_of(const Contestants& contestants, const Evidence& evidence, Slot slot) {
  const auto& samples = contestants.samples();
  const Slot baseline = contestants.baseline().value_or(slot);
  const auto openings = openings_with(contestants, evidence, slot, baseline);
  FinalistResult result;
  result.slot = slot;
  result.comparison.us = usable_us(samples.median_us(slot, openings));
  result.comparison.num_clean = samples.num_clean_pairs(slot, baseline, openings);
  if (slot == baseline) return result;
  const auto ratios = samples.log_ratios(baseline, slot, openings);
  if (openings.size() == 1)
    set_ratio(result.comparison, std::span<const double>(ratios.front()));
  else
    set_ratio(result.comparison, ratios);
  return result;
}

void fill_figures(const Contestants& contestants, const Evidence& evidence, ContestResult& result) {
  result.finalists.clear();
  for (const Slot slot : evidence.finalists) result.finalists.push_back(figures_of(contestants, evidence, slot));
  result.comparison = figures_of(contestants, evidence, result.winner).comparison;
  const auto openings =
      openings_with(contestants, evidence, result.winner, contestants.baseline().value_or(result.winner));
  result.num_openings = openings == evidence.openings ? static_cast<uint32_t>(openings.size()) : 0;
  if (!contestants.baseline()) {
    result.baseline_us = 0;
    return;
  }
  // The rounds of the winner's time, so that the two times are comparable.
  result.baseline_us = usable_us(contestants.samples().median_us(result.baseline, openings));
  for (const Slot slot : {result.winner, result.baseline}) {
    if (contestants.samples().num_clean(slot, openings) < SampleTable::kMinClean) result.noisy = true;
  }
}

}  // namespace attune
