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
  std::string name;              ///< Candidate::name(): the last tie-break.
  std::string layout = "plain";  ///< The best of each layout reaches the finals.
  uint64_t workspace_bytes = 0;  ///< The first tie-break.
  bool baseline = false;         ///< What a winner must beat. Never dropped in the race; always a finalist.
  bool incumbent = false;        ///< What an earlier run chose: as the baseline, and kept when tied.
  bool shortlisted = false;      ///< An earlier, interrupted run raced it already: straight to the finals, no race.
};

/// Constants of the procedure, each with the default that docs/measurement.md derives. One struct per phase.
struct RaceOptions {
  uint32_t batch = 16;  ///< Candidates that may join in a round.
  uint32_t crowd = 64;  ///< More alive than this: drop from round `first_crowded` on.
  uint32_t first = 5, first_crowded = 3;
  double z = 4.0;             ///< Bound, in standard errors of a median (1.25 σ/√n).
  double prior_sigma = 0.04;  ///< ° 0.01 on a GPU.
  double prior_weight = 5;
  uint32_t min_rounds = 6, max_rounds = 24;
  uint32_t max_finalists = 8;
};
struct FinalsOptions {
  std::vector<uint32_t> looks = {8, 16, 32, 64};  ///< Clean pairs a comparison; round cap 2·look.
  double level = 0.0160;                          ///< Pocock, two-sided; one-sided tests use half.
  double margin = 0.010;                          ///< ln-ratio by which a finalist must be slower.
  double max_clock_shift = 0.05, min_clean_share = 0.60;
};
struct ConfirmOptions {
  std::vector<uint32_t> looks = {16, 32, 64, 128, 256};
  double z = 2.485;
  double noisy_gain = 0.02;    ///< What a noisy Decision must prove in place of min_gain.
  uint32_t narrow_after = 64;  ///< Beyond this look: winner, baseline and two others.
  double delay_s = 5.0;        ///< Between the start of the finals and of the confirm.
  uint32_t publish_clean = 21;
};
struct ContestOptions {
  RaceOptions race;
  FinalsOptions finals;
  ConfirmOptions confirm;
  double min_gain = 0.005;
  uint64_t seed = 0;
  uint32_t max_pairs = 0;  ///< `--iters` when given: looks beyond it are not taken. 0: no cap.
};

/// What a contest wants next: the caller does it and calls next() again.
/// Answer with join() for each and, when the strategy has no more, close(). None or fewer will do.
struct WantEntrants {
  uint32_t at_most = 0;
};
/// Answer with report(). `launches` and `limit` are the caller's to fill in.
struct WantSamples {
  std::vector<Turn> schedule;
};
/// Confirm may start that long after the finals began. Answer with delayed().
struct WantDelay {
  double seconds = 0;
};
struct Finished {};
using Want = std::variant<WantEntrants, WantSamples, WantDelay, Finished>;

enum class Phase : uint8_t { race, finals, confirm, publish, finished };

struct FinalistResult {
  Slot slot = 0;
  double us = 0;
  double ratio = 1, ratio_low = 1, ratio_high = 1;  ///< baseline / this one: median pair ratio, its 95 % interval.
  uint32_t num_clean = 0;                           ///< Clean pairs with the baseline (of itself: clean samples).
};
struct ContestResult {
  /// False: cut before the finals ended, no baseline, or nothing usable measured. No row is published then; the figures
  /// are those there are.
  bool decided = false;
  Slot winner = 0, baseline = 0;
  Verdict verdict = Verdict::baseline;
  bool noisy = false;
  std::vector<Slot> tied;  ///< Includes the winner.
  std::vector<FinalistResult> finalists;
  double winner_us = 0, baseline_us = 0, ratio = 1, ratio_low = 1, ratio_high = 1;
  uint32_t num_clean = 0;
};

/// One problem's whole procedure (docs/measurement.md): race, finals, confirm, publish; or the exhaustive oracle.
/// Pure and seeded: no clock, no I/O; the same reports give the same wants. One thread.
///
///     Contest contest(options);                     // or Contest::exhaustive(warmup, iters, options)
///     while (!finished) std::visit(do_it, contest.next());
class Contest {
 public:
  explicit Contest(ContestOptions options);
  /// Every candidate gets `warmup` discarded and `iters` kept rounds, interleaved; the least median wins.
  static Contest exhaustive(uint32_t warmup, uint32_t iters, ContestOptions options);
  ~Contest();
  Contest(Contest&&) noexcept;
  Contest& operator=(Contest&&) noexcept;

  Want next();
  /// Adds an entrant; only while next() wants entrants, or to put another baseline in the place of one withdrawn. At
  /// most one is the baseline; of a contest without one there is only a report.
  void join(const Entrant& entrant);
  /// Nothing more will join.
  void close();
  /// Samples of the schedule last wanted, one for each of its turns and in its order. A turn that gave no usable sample
  /// (throttled) is reported with us = 0: counted, not used.
  void report(std::span<const Sample> samples);
  /// The schedule last wanted will not be reported (a new epoch): the race asks for another round, later phases start
  /// again from the finals, because only samples of one epoch are paired.
  void interrupt();
  /// The slot died: interrupt(), and it takes no further part. join() another baseline if it was that.
  void withdraw(Slot slot);
  void delayed();
  /// The budget is spent: ends at the next call of next(). In confirm that is a tie, before it nothing is decided.
  void cut();

  Phase phase() const noexcept;
  /// Slots that left the race since the last call, with what was measured of them; the caller may free them.
  std::vector<Slot> take_dropped();
  /// Slots that reached the finals; empty before.
  std::vector<Slot> finalists() const;
  /// All that was measured of a slot so far (samples of race, finals, confirm in order), with median and spread.
  /// Samples of a discarded block are only counted.
  Measurement measurement(Slot slot) const;
  double median_us(Slot slot) const;  ///< Over its clean samples (all, if fewer than 3 are clean). 0 before the first.
  /// After Finished.
  ContestResult result() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attune
