// SPDX-License-Identifier: MIT
#include "pipeline/change_verdict.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "core/group_estimate.h"

namespace attune {
namespace {

/// ln-ratios beyond which a shape is slower or faster.
struct ChangeBounds {
  explicit ChangeBounds(const ChangeOptions& options)
      : slower(-std::log1p(options.max_regression)), faster(std::log1p(options.min_gain)) {}
  double slower, faster;
};

GroupEstimate estimate_of(const ChangeSamples& samples) {
  std::vector<ChangePairs> openings;
  for (const auto& attempt : samples.attempts) openings.insert(openings.end(), attempt.begin(), attempt.end());
  return estimate_groups(openings);
}

bool is_same(const GroupEstimate& estimate, const ChangeOptions& options) {
  if (estimate.num_groups < options.min_openings) return false;
  const Interval interval = estimate.interval(1 - 2 * options.same_level);
  const double bound = std::log1p(options.max_regression);
  return interval.low >= -bound && interval.high <= bound;
}

/// The direction in which all attempts of a shape point beyond a bound: −1 slower, 1 faster, 0 neither.
int direction_of(const ChangeSamples& samples, const ChangeBounds& bounds) {
  if (samples.attempts.size() < 2) return 0;
  bool all_slower = true, all_faster = true;
  for (const auto& attempt : samples.attempts) {
    const GroupEstimate estimate = estimate_groups(attempt);
    all_slower = all_slower && estimate.num_groups > 0 && estimate.center < bounds.slower;
    all_faster = all_faster && estimate.num_groups > 0 && estimate.center > bounds.faster;
  }
  return all_slower ? -1 : all_faster ? 1 : 0;
}

/// Whether the location lies beyond the bound of a direction at a one-sided level.
bool is_beyond(GroupEstimate estimate, int direction, const ChangeBounds& bounds, double level) {
  if (direction == 0) return false;
  if (direction > 0) return estimate.exceeds(bounds.faster, level);
  estimate.center = -estimate.center;
  return estimate.exceeds(-bounds.slower, level);
}

/// How far the location lies beyond its bound, in standard errors; shapes are ranked by it.
double distance_of(const GroupEstimate& estimate, int direction, const ChangeBounds& bounds) {
  if (direction == 0 || estimate.standard_error <= 0) return direction == 0 ? 0 : 1e300;
  const double beyond = direction > 0 ? estimate.center - bounds.faster : bounds.slower - estimate.center;
  return beyond / estimate.standard_error;
}

struct ShapeEstimate {
  GroupEstimate all;
  int direction = 0;
  double distance = 0;
};

}  // namespace

std::string_view name(Change change) noexcept {
  static constexpr std::array<std::string_view, kNumChanges> kNames = {"same",      "faster",     "slower",
                                                                       "ambiguous", "no_default", "failed"};
  return kNames[static_cast<size_t>(change)];
}

ChangeStep next_step(const ChangeSamples& samples, const ChangeOptions& options) {
  if (!samples.why_failed.empty()) return ChangeStep::done;
  if (samples.attempts.empty()) return ChangeStep::opening;
  const auto num_openings = samples.attempts.back().size();
  if (num_openings < options.min_openings) return ChangeStep::opening;
  if (is_same(estimate_of(samples), options)) return ChangeStep::done;
  if (num_openings < options.max_openings[samples.attempts.size() - 1]) return ChangeStep::opening;
  return samples.attempts.size() < 2 ? ChangeStep::second_attempt : ChangeStep::done;
}

std::vector<ChangeResult> judge_changes(std::span<const ChangeSamples> shapes, const ChangeOptions& options) {
  const ChangeBounds bounds(options);
  std::vector<ChangeResult> results(shapes.size());
  std::vector<ShapeEstimate> estimates(shapes.size());
  std::vector<size_t> tested;
  for (size_t i = 0; i < shapes.size(); ++i) {
    const ChangeSamples& samples = shapes[i];
    ShapeEstimate& one = estimates[i];
    one.all = estimate_of(samples);
    if (!samples.why_failed.empty() || one.all.num_groups == 0) {
      results[i].verdict = Change::failed;
      continue;
    }
    one.direction = direction_of(samples, bounds);
    one.distance = distance_of(one.all, one.direction, bounds);
    tested.push_back(i);
  }
  std::stable_sort(tested.begin(), tested.end(),
                   [&](size_t a, size_t b) { return estimates[a].distance > estimates[b].distance; });
  // Holm's method: the clearest change is tested at the level over all shapes, each further one over the remaining
  // shapes. After the first change that is not proven, no other is.
  bool is_proven = true;
  size_t num_left = tested.size();
  double level = 0;
  for (const size_t i : tested) {
    const ShapeEstimate& one = estimates[i];
    if (is_proven) level = options.level / static_cast<double>(num_left--);
    is_proven = is_proven && is_beyond(one.all, one.direction, bounds, level);
    ChangeResult& result = results[i];
    result.verdict = is_proven ? (one.direction < 0 ? Change::slower : Change::faster)
                               : (is_same(one.all, options) ? Change::same : Change::ambiguous);
    const Interval interval = one.all.interval(1 - 2 * level);
    result.speedup = std::exp(one.all.center);
    result.interval = {std::exp(interval.low), std::exp(interval.high)};
    for (const auto& attempt : shapes[i].attempts) {
      result.attempts.push_back(std::exp(estimate_groups(attempt).center));
      for (const ChangePairs& pairs : attempt) result.num_pairs += pairs.size();
    }
  }
  return results;
}

}  // namespace attune
