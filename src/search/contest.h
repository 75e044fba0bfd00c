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

namespace attune {

/// A candidate that passed verification and may be sampled.
struct Entrant {
  Slot slot = 0;
  std::string name;              ///< Candidate::name(); the last tie-break.
  std::string layout = "plain";  ///< The best of each layout reaches the finals.
  uint64_t workspace_bytes = 0;  ///< The first tie-break.
  bool baseline = false;         ///< The slot that a winner must beat. Never dropped in the race; always a finalist.
  /// Choice of an earlier run. Kept in the contest like the baseline, and preferred when tied.
  bool incumbent = false;
  bool shortlisted = false;  ///< An earlier, interrupted run already raced it: it skips the race and enters the finals.
};

/// Constants of the procedure; docs/measurement.md derives the defaults. One struct per phase.
struct RaceOptions {
  uint32_t batch = 16;  ///< Maximum number of candidates that join in one round.
  uint32_t crowd = 64;  ///< With more than this alive, candidates are dropped from round `first_crowded` on.
  uint32_t first = 5, first_crowded = 3;
  double z = 4.0;             ///< Bound, in standard errors of a median (1.25 σ/√n).
  double prior_sigma = 0.04;  ///< Found by experiment on a host (docs/measurement.md); 0.01 on a GPU.
  double prior_weight = 5;
  uint32_t min_rounds = 6, max_rounds = 24;
  uint32_t max_finalists = 8;
};
struct FinalsOptions {
  std::vector<uint32_t> looks = {8, 16, 32, 64};  ///< Clean pairs per comparison; at most 2·look rounds are run.
  double level = 0.0160;                          ///< Pocock, two-sided; the one-sided tests use half of it.
  double margin = 0.010;                          ///< ln-ratio by which a finalist must be slower to be dropped.
  double max_clock_shift = 0.05, min_clean_share = 0.60;
};
struct ConfirmOptions {
  std::vector<uint32_t> looks = {16, 32, 64, 128, 256};
  double z = 2.485;
  double noisy_gain = 0.02;    ///< Gain that a noisy Decision must prove instead of min_gain.
  uint32_t narrow_after = 64;  ///< After this look only the winner, the baseline and two others are measured.
  double delay_s = 5.0;        ///< Seconds between the start of the finals and the start of the confirmation.
  uint32_t publish_clean = 21;
};
struct ContestOptions {
  RaceOptions race;
  FinalsOptions finals;
  ConfirmOptions confirm;
  double min_gain = 0.005;
  uint64_t seed = 0;
  uint32_t max_pairs = 0;  ///< Value of `--iters`: looks beyond it are not taken. 0: no cap.
};

/// A contest's request for entrants. Answer with join() for each entrant, then close() when the strategy has no more.
/// The caller may add fewer, or none.
struct WantEntrants {
  uint32_t at_most = 0;
};
/// A contest's request for samples. Answer with report(). The caller fills in `launches` and `limit`.
struct WantSamples {
  std::vector<Turn> schedule;
};
/// A contest's request to wait: the confirmation may start this long after the finals began. Answer with delayed().
struct WantDelay {
  double seconds = 0;
};
struct Finished {};
/// A request of a contest. The caller fulfils it and calls next() again.
using Want = std::variant<WantEntrants, WantSamples, WantDelay, Finished>;

enum class Phase : uint8_t { race, finals, confirm, publish, finished };

struct FinalistResult {
  Slot slot = 0;
  double us = 0;
  double ratio = 1, ratio_low = 1, ratio_high = 1;  ///< baseline / this slot: median pair ratio and its 95 % interval.
  uint32_t num_clean = 0;  ///< Clean pairs with the baseline (for the baseline itself: clean samples).
};
struct ContestResult {
  /// False if the contest was cut before the finals ended, has no baseline, or measured nothing usable. Then no row is
  /// published, and the figures cover what was measured.
  bool decided = false;
  Slot winner = 0, baseline = 0;
  Verdict verdict = Verdict::baseline;
  bool noisy = false;
  std::vector<Slot> tied;  ///< Includes the winner.
  std::vector<FinalistResult> finalists;
  double winner_us = 0, baseline_us = 0, ratio = 1, ratio_low = 1, ratio_high = 1;
  uint32_t num_clean = 0;
};

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

  Want next();
  /// Adds an entrant. Requires: next() returned WantEntrants, or the entrant replaces a withdrawn baseline. At most one
  /// entrant is the baseline; a contest without one decides nothing and only reports.
  void join(const Entrant& entrant);
  /// Announces that no more entrants will join.
  void close();
  /// Takes the samples of the last schedule, one per turn and in its order. A turn without a usable sample (throttled)
  /// is reported with us = 0: counted, not used.
  void report(std::span<const Sample> samples);
  /// Discards the last schedule unreported (a new epoch). The race asks for another round; later phases restart from
  /// the finals, because only samples of one epoch are paired.
  void interrupt();
  /// Removes a slot whose candidate died, and calls interrupt(). If it was the baseline, join() a replacement.
  void withdraw(Slot slot);
  void delayed();
  /// The budget is spent: the contest ends at the next call of next(). During the confirmation the result is a tie;
  /// before it, nothing is decided.
  void cut();

  Phase phase() const noexcept;
  /// Slots that left the race since the last call, or were not shortlisted. The caller may free them; measurement()
  /// stays available.
  std::vector<Slot> take_dropped();
  /// Slots that reached the finals; empty during the race.
  std::vector<Slot> finalists() const;
  /// All samples of a slot so far (race, finals, confirm in order), with median and spread. Samples of a discarded
  /// block are only counted.
  Measurement measurement(Slot slot) const;
  /// Median of its clean samples (of all if fewer than 3 are clean). 0 before the first sample.
  double median_us(Slot slot) const;
  /// Requires: next() returned Finished.
  ContestResult result() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attune
