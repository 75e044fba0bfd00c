// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/device_info.h"
#include "core/record.h"
#include "search/contest_result.h"
#include "solver/contender.h"
#include "tuner/problem/entrant_facts.h"
#include "tuner/problem/race_times.h"

namespace attune {

/// The inputs of a Decision. The references outlive the call of make_decision().
struct DecisionFacts {
  const Problem& problem;
  const DeviceInfo& device;
  const Protocol& protocol;
  const ContestResult& contest;  ///< Requires: decided.
  const std::map<Slot, EntrantFacts>& entrants;
  const RaceTimes& race_times;
  const std::vector<std::pair<Candidate, Outcome>>& failures;
  std::span<const Contender> contenders;  ///< As opened: the finalists' numbers are of their spaces.
  std::vector<Candidate> to_beat;         ///< Default configs that a winner must beat.
  Versions versions;
  std::string strategy;
  std::optional<Incumbent> incumbent;
  Deadlines deadlines;        ///< Deadlines of this run.
  bool is_cut_short = false;  ///< Some candidates were not asked for, or time or an interrupt ended it.
  bool pause_cut = false;     ///< The confirm began before its pause had passed.
  Timing timing = Timing::clock;
  uint64_t launches = 0;
  uint32_t dropped_samples = 0;
  size_t num_candidates = 0;
  double seconds = 0;
};

/// Makes the Decision of a contest. Pure: no clock, no journal, no device.
Decision make_decision(const DecisionFacts& facts);

}  // namespace attune
