// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/statistics.h"

namespace attune {

/// How a shape's time changed with its row, from best to worst known. ambiguous: its samples do not tell. no_default:
/// neither a row nor a library served it before, so there is nothing to compare with. failed: a kernel could not be
/// measured.
enum class Change : uint8_t { same, faster, slower, ambiguous, no_default, failed };
inline constexpr size_t kNumChanges = 6;
std::string_view name(Change change) noexcept;

struct ChangeOptions {
  double max_regression = 0.02;  ///< Slowdown up to which a shape counts as unchanged, as a fraction.
  double min_gain = 0.005;       ///< Speed-up that `faster` must prove, as a fraction.
  /// Maximum probability that any shape of a run is wrongly called slower or faster.
  double level = 0.025;
  /// Confidence of the interval in which `same` is claimed, one-sided at each end.
  double same_level = 0.05;
  uint32_t pairs = 32;        ///< Clean pairs of an opening.
  uint32_t min_openings = 3;  ///< Of an attempt; after each opening from here on the samples are looked at.
  /// Most openings of each attempt: 256 pairs, and 1,024 for shapes that these leave open.
  std::array<uint32_t, 2> max_openings = {8, 32};
};

/// Clean paired samples of one opening, a fresh worker: ln(time of the old kernel / time of the new one).
using ChangePairs = std::vector<double>;

/// The samples of one shape. The second attempt is made in fresh processes, some time after the first.
struct ChangeSamples {
  std::vector<std::vector<ChangePairs>> attempts;  ///< At most two, by opening.
  std::string why_failed;                          ///< Not empty: a kernel failed, and there is nothing to judge.
};

/// The next measurement of a shape.
enum class ChangeStep : uint8_t { opening, second_attempt, done };
/// After each opening: another one of the same attempt; the second attempt, unless the first has shown the shape to be
/// the same; or nothing.
ChangeStep next_step(const ChangeSamples& samples, const ChangeOptions& options);

/// The verdict on one shape. Ratios are speed-ups: the old time over the new one.
struct ChangeResult {
  Change verdict = Change::ambiguous;
  double speedup = 0;            ///< 0 if nothing was measured.
  Interval interval;             ///< Of the speed-up, adjusted over the shapes of the run.
  std::vector<double> attempts;  ///< Speed-up of each attempt.
  size_t num_pairs = 0;
};

/// Judges the shapes of one run together. A shape is
///
/// - slower, if its two attempts both lie below 1 / (1 + max_regression), and the interval of all their pairs does;
/// - faster, if both lie above 1 + min_gain, and the interval does;
/// - same, if the interval of all its pairs at `same_level` lies within ± max_regression;
/// - else ambiguous.
///
/// The intervals of the first two are adjusted by Holm over the shapes that were measured, so that `level` holds for
/// the run. They are intervals of core/group_estimate: openings that differ are judged by their number. Samples are
/// tested once, when all are there: the looks of next_step() stop at `same` alone. Pure; O(pairs²) an opening.
std::vector<ChangeResult> judge_changes(std::span<const ChangeSamples> shapes, const ChangeOptions& options);

}  // namespace attune
