// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/outcome.h"
#include "core/record.h"
#include "core/turn.h"
#include "search/contest_options.h"
#include "search/contest_result.h"
#include "search/entrant.h"
#include "search/sample_table.h"

namespace attune {

/// A contest's request for entrants. Answer with join() for each entrant, then close() when the strategy has no more.
/// The caller may add fewer, or none.
struct WantEntrants {
  uint32_t max_count = 0;
};
/// A contest's request for samples. Answer with report(). The caller fills in `launches` and `limit`.
struct WantSamples {
  std::vector<Turn> schedule;
};
/// A contest's request to wait: the confirmation may start this long after the finals began. Answer with delayed().
struct WantDelay {
  double seconds = 0;
};
/// A contest's request for a worker in which none of its samples since the finals began were taken. Answer with
/// renewed().
struct WantFreshWorker {};
struct ContestEnd {};
/// A request of a contest. The caller fulfils it and calls next() again.
using ContestRequest = std::variant<WantEntrants, WantSamples, WantDelay, WantFreshWorker, ContestEnd>;

enum class Phase : uint8_t { race, finals, confirm, publish, finished };

/// The whole procedure for one problem (docs/measurement.md): race, finals, confirm, publish; or the exhaustive oracle.
/// Pure and seeded: no clock, no I/O; the same reports give the same wants. Not thread-safe.
///
///     Contest contest(options);                     // or Contest::exhaustive(warmup, iters, options)
///     while (!finished) std::visit(do_it, contest.next());
class Contest {
 public:
  explicit Contest(ContestOptions options);
  /// Every candidate gets `warmup` discarded and `iters` kept rounds, interleaved; the lowest median wins.
  static Contest exhaustive(uint32_t warmup, uint32_t iters, ContestOptions options);
  ~Contest();
  Contest(Contest&&) noexcept;
  Contest& operator=(Contest&&) noexcept;

  ContestRequest next();
  /// Adds an entrant. Requires: next() returned WantEntrants, or the entrant replaces a withdrawn baseline, or it comes
  /// back from the race (Entrant::shortlisted): then what followed the race restarts from the finals. At most one
  /// entrant is the baseline; a contest without one decides nothing and only reports.
  void join(const Entrant& entrant);
  /// Announces that no more entrants will join.
  void close();
  /// Takes the samples of the last schedule, one per turn and in its order. A turn without a usable sample (throttled)
  /// is reported with us = 0: counted, not used.
  void report(std::span<const Sample> samples);
  /// Discards the last schedule unreported (a new epoch). The race asks for another round, the finals restart, and
  /// confirm and publish repeat the opening that was under way, because only samples of one epoch are paired.
  void interrupt();
  /// Discards everything that followed the race, also when it is finished: it restarts from the finals.
  void restart();
  /// Removes a slot whose candidate died or is wrong, and discards the last schedule; then like restart(). If it was
  /// the baseline, join() a replacement.
  void withdraw(Slot slot);
  void delayed();
  /// The next samples are of a fresh worker. Requires: next() returned WantFreshWorker.
  void renewed();
  /// The budget is spent: the contest ends at the next call of next(). During the confirmation the result is a tie;
  /// before it, nothing is decided.
  void cut();

  Phase phase() const noexcept;
  /// A number that changes when the next samples need not be of the worker of the last ones: when the finals begin and
  /// with each opening. During the race it stays, although only samples of one round are paired.
  uint32_t pairing() const noexcept;
  /// Slots that left the race since the last call, or were not shortlisted. The caller may free them; measurement()
  /// stays available.
  std::vector<Slot> take_dropped();
  /// Slots that reached the finals; empty during the race.
  std::vector<Slot> finalists() const;
  /// All samples of a slot so far (race, finals, confirm in order), or those of some rounds, with median and spread.
  /// Samples of a discarded block are only counted.
  Measurement measurement(Slot slot, Rounds rounds = {}) const;
  /// Rounds from the finals on; all of them if there are no finals.
  Rounds rounds_since_race() const;
  /// Median of its clean samples (of all if fewer than 3 are clean). 0 before the first sample.
  double median_us(Slot slot) const;
  /// Requires: next() returned ContestEnd.
  ContestResult result() const;
  /// Makes a result that is `faster` one that is not proven, for a reason that the samples of the contest do not show.
  /// Requires: next() returned ContestEnd.
  void deny(std::string reason);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attune
