// SPDX-License-Identifier: MIT
#include "tuner/problem/race_times.h"

#include <algorithm>

namespace attune {

std::optional<double> RaceTimes::us_of(const Candidate& candidate) const {
  const auto found = times_.find(candidate.name());
  return found == times_.end() ? std::nullopt : std::optional(found->second.us);
}

std::vector<Candidate> RaceTimes::fastest(size_t count) const {
  std::vector<std::pair<double, std::string>> names;
  for (const auto& [name, one] : times_) names.emplace_back(one.us, name);
  std::sort(names.begin(), names.end());
  std::vector<Candidate> all;
  for (size_t i = 0; i < std::min(count, names.size()); ++i) all.push_back(times_.at(names[i].second).candidate);
  return all;
}

std::vector<DroppedBest> RaceTimes::dropped_bests(const std::set<std::string>& solvers_in_final) const {
  std::map<std::string, DroppedBest> best;
  for (const auto& [name, one] : times_) {
    if (solvers_in_final.contains(one.candidate.solver)) continue;
    const auto [place, is_first] = best.try_emplace(one.candidate.solver, one);
    if (!is_first && one.us < place->second.us) place->second = one;
  }
  std::vector<DroppedBest> all;
  for (auto& [solver, one] : best) all.push_back(std::move(one));
  return all;
}

std::optional<BestDefault> best_default(const Decision& decision, const std::vector<Candidate>& default_config,
                                        const RaceTimes& race) {
  const auto final_of = [&](const Candidate& candidate) -> const Comparison* {
    const auto found = std::find_if(decision.finalists.begin(), decision.finalists.end(),
                                    [&](const Finalist& one) { return one.candidate == candidate; });
    const bool is_timed = found != decision.finalists.end() && found->comparison.us > 0 && found->comparison.ratio > 0;
    return is_timed ? &found->comparison : nullptr;
  };
  const Comparison* const winner_final = final_of(decision.winner);
  const auto winner_race_us = race.us_of(decision.winner);
  std::optional<BestDefault> best;
  for (const Candidate& candidate : default_config) {
    const Comparison* const in_final = final_of(candidate);
    const auto in_race = race.us_of(candidate);
    BestDefault one{candidate};
    if (in_final != nullptr && winner_final != nullptr) {
      one.us = in_final->us;
      // Both ratios are over the baseline, by pairs. For the baseline itself this is the decision's ratio.
      one.ratio = winner_final->ratio / in_final->ratio;
    } else if (in_race && winner_race_us) {
      one.us = *in_race;
      one.ratio = *in_race / *winner_race_us;
      one.screened = true;
    } else {
      continue;
    }
    if (!best || one.ratio < best->ratio) best = one;
  }
  return best;
}

}  // namespace attune
