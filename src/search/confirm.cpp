// SPDX-License-Identifier: MIT
#include "search/confirm.h"

#include <algorithm>
#include <cmath>

#include "base/statistics.h"
#include "search/finals.h"

namespace attune {

Confirm::Confirm(ConfirmOptions options, uint32_t max_pairs, Field& field, Claim claim, std::vector<Slot> finalists)
    : options_(std::move(options)),
      field_(field),
      claim_(claim),
      mix_(std::move(finalists)),
      looks_(capped_looks(options_.looks, max_pairs)),
      first_round_(field.last_round() + 1),
      mix_first_(first_round_) {}

std::vector<Turn> Confirm::next() {
  while (look_ < looks_.size()) {
    const uint32_t look = looks_[look_];
    if (look > options_.narrow_after) narrow();
    const uint32_t pairs = field_.samples().num_clean_pairs(claim_.winner, claim_.opponent, rounds());
    if (pairs < look && num_rounds_ < 2 * look) {
      const uint32_t missing = std::min(look - pairs, 2 * look - num_rounds_);
      num_rounds_ += missing;
      return field_.schedule(mix_, missing);
    }
    accepted_ = is_proven(claim_);
    look_ = accepted_ ? looks_.size() : look_ + 1;
  }
  return {};
}

void Confirm::narrow() {
  constexpr size_t kSlots = 4;
  if (mix_.size() <= kSlots) return;
  std::vector<Slot> narrowed = {claim_.winner, claim_.opponent};
  if (const auto baseline = field_.baseline(); baseline && !contains(narrowed, *baseline))
    narrowed.push_back(*baseline);
  for (const Slot slot : field_.ranked(mix_, rounds())) {
    if (narrowed.size() < kSlots && !contains(narrowed, slot)) narrowed.push_back(slot);
  }
  mix_ = std::move(narrowed);
  mix_first_ = field_.last_round() + 1;
}

bool Confirm::is_proven(const Claim& claim) const {
  auto gains = field_.samples().log_ratios(claim.opponent, claim.winner, rounds());
  for (auto& gain : gains) gain -= std::log1p(claim.min_gain);
  return signed_rank(gains).z > options_.z;
}

Publish::Publish(uint32_t num_clean, Field& field, std::vector<Slot> mix, std::vector<Slot> published,
                 uint32_t mix_first)
    : wanted_(num_clean),
      field_(field),
      mix_(std::move(mix)),
      published_(std::move(published)),
      mix_first_(mix_first),
      num_rounds_(field.last_round() + 1 - mix_first) {}

std::vector<Turn> Publish::next() {
  const auto& samples = field_.samples();
  const uint32_t clean = published_.size() == 2
                             ? samples.num_clean_pairs(published_.front(), published_.back(), rounds())
                             : samples.num_clean(published_.front(), rounds());
  if (clean >= wanted_ || num_rounds_ >= 2 * wanted_) return {};
  const uint32_t missing = std::min(wanted_ - clean, 2 * wanted_ - num_rounds_);
  num_rounds_ += missing;
  return field_.schedule(mix_, missing);
}

}  // namespace attune
