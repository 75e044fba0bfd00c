// SPDX-License-Identifier: MIT
#include "search/race.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/statistics.h"

namespace attune {
namespace {
/// Standard error of a median of n normal values: 1.25 σ/√n.
constexpr double kMedianError = 1.25;
}  // namespace

Race::Race(RaceOptions options, Contestants& contestants) : options_(options), contestants_(contestants) {}

void Race::join(Slot slot) {
  alive_.push_back(slot);
  num_rounds_[slot] = 0;
}

void Race::withdraw(Slot slot) { std::erase(alive_, slot); }

uint32_t Race::first_judged() const { return alive_.size() > options_.crowd ? options_.first_crowded : options_.first; }

/// Ratios that include dirty samples dropped a true winner in 0.75 % of simulated races with a busy neighbour. Waiting
/// twice as many rounds for clean samples drops none and costs 4 to 11 % of the launches in such races (docs/adr/0004).
uint32_t Race::first_for(Slot slot, Slot leader, uint32_t first) const {
  return contestants_.samples().num_clean_pairs(slot, leader) < SampleTable::kMinClean ? 2 * first : first;
}

bool Race::has_more() const {
  uint32_t fewest = options_.max_rounds;
  for (const Slot slot : alive_) fewest = std::min(fewest, num_rounds_.at(slot));
  if (fewest >= options_.max_rounds) return false;
  return fewest < options_.min_rounds || alive_.size() > options_.max_finalists;
}

std::vector<Turn> Race::next(bool joining) {
  if (alive_.empty() || !has_more()) return {};
  uint32_t max_rounds = 0;
  for (const Slot slot : alive_) max_rounds = std::max(max_rounds, num_rounds_.at(slot));
  // No candidate is judged before first_judged() rounds, so one schedule covers the rounds up to there.
  const uint32_t block = !joining && max_rounds < first_judged() ? first_judged() - max_rounds : 1;
  return contestants_.schedule(alive_, block);
}

void Race::reported(std::span<const Turn> turns) {
  for (const auto& turn : turns) ++num_rounds_.at(turn.slot);
  if (alive_.empty()) return;
  const uint32_t first = first_judged();
  const auto safe = kept();
  // Nobody leaves because of one that cannot win.
  const auto rivals = contestants_.possible_winners(alive_);
  if (rivals.empty()) return;
  const Slot leader = contestants_.best(rivals, {});
  std::erase_if(alive_, [&](Slot slot) {
    if (num_rounds_.at(slot) < first_for(slot, leader, first) || contains(safe, slot) || !is_slower(slot, leader))
      return false;
    dropped_.push_back(slot);
    return true;
  });
}

bool Race::is_slower(Slot slot, Slot leader) const {
  const auto ratios = contestants_.samples().log_ratios(slot, leader);
  if (ratios.empty()) return false;
  const auto n = static_cast<double>(ratios.size());
  const double sigma = scaled_mad(ratios);
  const double variance = (n * sigma * sigma + options_.prior_weight * options_.prior_sigma * options_.prior_sigma) /
                          (n + options_.prior_weight);
  return median(ratios) - options_.z * kMedianError * std::sqrt(variance / n) > 0;
}

std::vector<Slot> Race::kept() const {
  auto kept = contestants_.best_of_layouts(contestants_.possible_winners(alive_), {});
  for (const Slot slot : alive_) {
    if (contestants_.is_protected(slot)) kept.push_back(slot);
  }
  return kept;
}

std::vector<Slot> Race::take_dropped() { return std::exchange(dropped_, {}); }

std::vector<Slot> Race::shortlist() const {
  const auto safe = kept();
  std::vector<Slot> finalists;
  size_t rank = 0;
  for (const Slot slot : contestants_.ranked(alive_, {})) {
    const bool is_among_best = contestants_.entrant(slot).may_win && rank++ < options_.max_finalists;
    if (is_among_best || contains(safe, slot) || contestants_.is_default(slot)) finalists.push_back(slot);
  }
  return finalists;
}

}  // namespace attune
