// SPDX-License-Identifier: MIT
#include "search/contestants.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/hash.h"
#include "core/statistics.h"

namespace attune {

Contestants::Contestants(uint64_t seed) : random_(derive_seed(seed, "contest")) {}

void Contestants::add(const Entrant& entrant) {
  ATTUNE_CHECK(!entrant.baseline || !baseline(), "a contest has one baseline, slot {} is another", entrant.slot);
  ATTUNE_CHECK(!has(entrant.slot) || entrant.baseline, "slot {} joins twice", entrant.slot);
  if (has(entrant.slot)) {
    entrants_.at(entrant.slot).baseline = true;
  } else {
    entrants_.emplace(entrant.slot, entrant);
  }
}

void Contestants::remove(Slot slot) { entrants_.erase(slot); }

const Entrant& Contestants::entrant(Slot slot) const {
  const auto found = entrants_.find(slot);
  ATTUNE_CHECK(found != entrants_.end(), "slot {} takes no part", slot);
  return found->second;
}

std::optional<Slot> Contestants::baseline() const {
  for (const auto& [slot, entrant] : entrants_) {
    if (entrant.baseline) return slot;
  }
  return std::nullopt;
}

std::optional<Slot> Contestants::incumbent() const {
  for (const auto& [slot, entrant] : entrants_) {
    if (entrant.incumbent) return slot;
  }
  return std::nullopt;
}

bool Contestants::is_protected(Slot slot) const {
  const auto& found = entrant(slot);
  return found.baseline || found.incumbent;
}

bool Contestants::is_default(Slot slot) const {
  const auto& found = entrant(slot);
  return found.baseline || found.is_default;
}

std::vector<Slot> Contestants::slots() const {
  std::vector<Slot> slots;
  for (const auto& [slot, entrant] : entrants_) slots.push_back(slot);
  return slots;
}

std::vector<Slot> Contestants::possible_winners(std::span<const Slot> slots) const {
  std::vector<Slot> result;
  for (const Slot slot : slots) {
    if (entrant(slot).may_win) result.push_back(slot);
  }
  return result;
}

std::vector<Turn> Contestants::schedule(std::span<const Slot> slots, uint32_t num_rounds) {
  std::vector<Turn> turns;
  turns.reserve(slots.size() * num_rounds);
  std::vector<Slot> order(slots.begin(), slots.end());
  for (uint32_t i = 0; i < num_rounds; ++i) {
    ++last_round_;
    random_.shuffle(order);
    for (const Slot slot : order) turns.push_back({.slot = slot, .round = last_round_});
  }
  return turns;
}

Measurement Contestants::measurement(Slot slot, Rounds rounds) const {
  const auto samples = samples_.samples(slot, rounds);
  Measurement measurement;
  measurement.samples.assign(samples.begin(), samples.end());
  measurement.dropped_samples = samples_.num_dropped(slot);
  measurement.noisy = samples_.num_clean(slot, rounds) < SampleTable::kMinClean;
  if (has(slot)) measurement.workspace_bytes = entrant(slot).workspace_bytes;
  if (!samples.empty()) {
    const auto times = usable_times(samples);
    measurement.median_us = median(times);
    measurement.spread_us = scaled_mad(times);
  }
  return measurement;
}

std::vector<Slot> Contestants::ranked(std::span<const Slot> slots, Rounds rounds) const {
  using Rank = std::tuple<double, uint64_t, std::string_view, Slot>;
  std::vector<Rank> ranks;
  for (const Slot slot : slots) {
    const auto& found = entrant(slot);
    ranks.emplace_back(samples_.median_us(slot, rounds), found.workspace_bytes, found.name, slot);
  }
  std::sort(ranks.begin(), ranks.end());
  std::vector<Slot> result;
  for (const auto& rank : ranks) result.push_back(std::get<Slot>(rank));
  return result;
}

Slot Contestants::best(std::span<const Slot> slots, Rounds rounds) const {
  ATTUNE_CHECK(!slots.empty(), "the best of an empty set");
  return ranked(slots, rounds).front();
}

std::vector<Slot> Contestants::best_of_layouts(std::span<const Slot> slots, Rounds rounds) const {
  std::set<std::string_view> seen;
  auto result = ranked(slots, rounds);
  std::erase_if(result, [&](Slot slot) { return !seen.insert(entrant(slot).layout).second; });
  return result;
}

}  // namespace attune
