// SPDX-License-Identifier: MIT
#include "search/confirm.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "core/statistics.h"

namespace attune {
namespace {

/// Clean pairs of an opening under a cap on all of them.
uint32_t pairs_of_opening(const ConfirmOptions& options, uint32_t max_pairs) {
  return max_pairs == 0 ? options.pairs : std::clamp(max_pairs / options.min_openings, 1u, options.pairs);
}

uint32_t largest_number(const ConfirmOptions& options, uint32_t max_pairs) {
  if (max_pairs == 0) return options.max_openings;
  return std::clamp(max_pairs / pairs_of_opening(options, max_pairs), options.min_openings, options.max_openings);
}

std::vector<Slot> slots_of(const std::vector<Claim>& claims) {
  ATTUNE_CHECK(!claims.empty(), "a confirm has at least one claim");
  std::vector<Slot> slots;
  for (const Claim& claim : claims) {
    slots.push_back(claim.winner);
    slots.insert(slots.end(), claim.to_beat.begin(), claim.to_beat.end());
  }
  return slots;
}

}  // namespace

double look_level(const ConfirmOptions& options) noexcept { return 1 - normal_cdf(options.z); }

Openings::Openings(Contestants& contestants, std::vector<Slot> mix, std::vector<Slot> watched, uint32_t pairs)
    : contestants_(contestants), mix_(std::move(mix)), watched_(std::move(watched)), pairs_(pairs) {}

OpeningStep Openings::next(uint32_t count) {
  if (first_) {
    if (const uint32_t missing = missing_rounds(); missing > 0) {
      num_rounds_ += missing;
      return {.turns = contestants_.schedule(mix_, missing)};
    }
    complete_.push_back({*first_, contestants_.last_round()});
    first_.reset();
  }
  return {.needs_fresh_worker = complete_.size() < count, .turns = {}};
}

void Openings::renewed() {
  ATTUNE_CHECK(!first_, "an opening begins while another one is under way");
  first_ = contestants_.last_round() + 1;
  num_rounds_ = 0;
  ++num_begun_;
}

GroupEstimate Openings::log_ratio(Slot a, Slot b) const {
  return estimate_groups(contestants_.samples().log_ratios(a, b, complete_));
}

uint32_t Openings::missing_rounds() const {
  const Rounds rounds{*first_, contestants_.last_round()};
  const auto& samples = contestants_.samples();
  uint32_t clean = samples.num_clean(watched_.front(), rounds);
  for (const Slot slot : watched_) clean = std::min(clean, samples.num_clean_pairs(watched_.front(), slot, rounds));
  if (clean >= pairs_ || num_rounds_ >= 2 * pairs_) return 0;
  return std::min(pairs_ - clean, 2 * pairs_ - num_rounds_);
}

Confirm::Confirm(ConfirmOptions options, uint32_t max_pairs, uint32_t min_pairs, Contestants& contestants,
                 std::vector<Claim> claims, std::vector<Slot> mix)
    : options_(options),
      contestants_(contestants),
      claims_(std::move(claims)),
      openings_(contestants, std::move(mix), slots_of(claims_), pairs_of_opening(options, max_pairs)),
      num_wanted_(options.min_openings),
      max_openings_(largest_number(options, max_pairs)),
      min_pairs_(min_pairs) {}

OpeningStep Confirm::next() {
  while (!accepted_ && claim_ < claims_.size()) {
    if (OpeningStep step = openings_.next(num_wanted_); !step.is_done()) return step;
    judge();
  }
  return {};
}

void Confirm::judge() {
  const Result result = test(claims_[claim_]);
  accepted_ = result == Result::proven;
  if (accepted_) return;
  if (result == Result::refuted || num_wanted_ >= max_openings_)
    ++claim_;
  else
    ++num_wanted_;
}

Confirm::Result Confirm::test(const Claim& claim) const {
  const double p = look_level(options_), bound = std::log1p(claim.min_gain);
  Result result = claim.to_beat.empty() ? Result::refuted : Result::proven;
  for (const Slot rival : claim.to_beat) {
    const GroupEstimate estimate = openings_.log_ratio(rival, claim.winner);
    if (estimate.num_groups < options_.min_openings || estimate.center <= bound) return Result::refuted;
    if (!estimate.exceeds(bound, p)) result = Result::open;
  }
  return result == Result::proven && too_few_pairs(claim) ? Result::open : result;
}

std::optional<uint32_t> Confirm::too_few_pairs(const Claim& claim) const {
  std::optional<uint32_t> fewest;
  for (const Slot rival : claim.to_beat) {
    const uint32_t pairs = contestants_.samples().num_clean_pairs(rival, claim.winner, openings_.complete());
    if (pairs < min_pairs_ && pairs < fewest.value_or(min_pairs_)) fewest = pairs;
  }
  return fewest;
}

}  // namespace attune
