// SPDX-License-Identifier: MIT
#pragma once
#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <map>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.h"
#include "search/contest.h"
#include "search/entrant.h"

namespace attune {

/// Noise of a shared host, with values measured on one (docs/performance.md).
struct SyntheticNoise {
  double white = 0.02;   ///< Standard deviation of ln(time), independent in each sample.
  double drift = 0.005;  ///< Slow drift: one common to all (decays by 1 % per sample) and one per candidate (2 %).
  double dirty = 0.02;   ///< Share of samples slowed by up to 80 % and marked dirty.
  double hidden = 0.05;  ///< Share of the other samples slowed by up to 30 % without a mark.
  double opening = 0;    ///< Standard deviation of each candidate's ln(time) from opening to opening.
};

/// Candidates with known true times, for tests and for simulating the procedure.
class SyntheticWorld {
 public:
  SyntheticWorld(std::map<Slot, double> times_us, SyntheticNoise noise, uint64_t seed)
      : times_us_(std::move(times_us)), noise_(noise), random_(seed) {}

  Sample sample(Slot slot) {
    ++num_samples_;
    level_ = 0.99 * level_ + noise_.drift * 0.14 * random_.normal();
    double& own = own_[slot];
    own = 0.98 * own + noise_.drift * 0.2 * random_.normal();
    double us = times_us_.at(slot) * std::exp(noise_.white * random_.normal() + level_ + own + offset_of(slot));
    const bool dirty = random_.uniform() < noise_.dirty;
    if (dirty) {
      us *= 1 + 0.8 * random_.uniform();
    } else if (random_.uniform() < noise_.hidden) {
      us *= 1 + 0.3 * random_.uniform();
    }
    return {.us = static_cast<float>(us), .clock = clock, .round = 0, .dirty = dirty};
  }
  /// Begins another opening: a worker that nothing was measured in. Replacing a worker takes longer than the drifts'
  /// memory, so they are drawn again.
  void reopen() {
    ++num_openings_;
    offsets_.clear();
    level_ = noise_.drift * random_.normal();
    for (auto& [slot, drift] : own_) drift = noise_.drift * random_.normal();
  }
  double time_us(Slot slot) const { return times_us_.at(slot); }
  uint64_t num_samples() const noexcept { return num_samples_; }
  uint32_t num_openings() const noexcept { return num_openings_; }
  SyntheticNoise& noise() noexcept { return noise_; }

  float clock = 1;  ///< Clock of the following samples.

 private:
  /// Drawn only if openings differ, so that the other noise of a seed does not depend on them.
  double offset_of(Slot slot) {
    if (noise_.opening <= 0) return 0;
    const auto [found, is_new] = offsets_.try_emplace(slot, 0.0);
    if (is_new) found->second = noise_.opening * random_.normal();
    return found->second;
  }

  std::map<Slot, double> times_us_;
  SyntheticNoise noise_;
  Random random_;
  std::map<Slot, double> own_, offsets_;
  double level_ = 0;
  uint64_t num_samples_ = 0;
  uint32_t num_openings_ = 1;
};

/// Runs a contest to its end. `entrants` join in their order; `watch` receives each schedule and its phase before the
/// schedule is measured.
inline ContestResult play(Contest& contest, SyntheticWorld& world, const std::vector<Entrant>& entrants,
                          const std::function<void(const std::vector<Turn>&, Phase)>& watch = {}) {
  size_t num_joined = 0;
  while (true) {
    const ContestRequest want = contest.next();
    if (std::holds_alternative<ContestEnd>(want)) return contest.result();
    if (const auto* request = std::get_if<WantEntrants>(&want)) {
      for (uint32_t i = 0; i < request->max_count && num_joined < entrants.size(); ++i) {
        contest.join(entrants[num_joined++]);
      }
      if (num_joined == entrants.size()) contest.close();
    } else if (const auto* samples = std::get_if<WantSamples>(&want)) {
      if (watch) watch(samples->schedule, contest.phase());
      std::vector<Sample> measured;
      for (const auto& turn : samples->schedule) measured.push_back(world.sample(turn.slot));
      contest.report(measured);
    } else if (std::holds_alternative<WantFreshWorker>(want)) {
      world.reopen();
      contest.renewed();
    } else {
      contest.delayed();
    }
  }
}

/// Entrants with the given times by slot; slot 0 is the baseline.
inline std::vector<Entrant> entrants_of(const std::map<Slot, double>& times) {
  std::vector<Entrant> entrants;
  for (const auto& [slot, us] : times) {
    entrants.push_back({.slot = slot, .name = fmt::format("c{:03}", slot), .baseline = slot == 0});
  }
  return entrants;
}

}  // namespace attune
