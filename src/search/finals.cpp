// SPDX-License-Identifier: MIT
#include "search/finals.h"

#include <algorithm>
#include <cmath>

#include "core/statistics.h"

namespace attune {

std::vector<uint32_t> capped_looks(std::vector<uint32_t> looks, uint32_t max_pairs) {
  if (max_pairs == 0) return looks;
  std::erase_if(looks, [&](uint32_t look) { return look > max_pairs; });
  if (looks.empty()) looks.push_back(max_pairs);
  return looks;
}

Finals::Finals(FinalsOptions options, uint32_t max_pairs, Contestants& contestants, std::vector<Slot> finalists)
    : options_(std::move(options)),
      contestants_(contestants),
      finalists_(std::move(finalists)),
      tied_(contestants.possible_winners(finalists_)),
      looks_(capped_looks(options_.looks, max_pairs)),
      first_round_(contestants.last_round() + 1),
      block_first_(first_round_),
      usual_clock_(contestants.samples().median_clock({})) {
  if (finalists_.size() < 2) look_ = looks_.size();
  if (look_ < looks_.size()) max_rounds_ = 2 * looks_.front();
}

std::vector<Turn> Finals::next() {
  while (look_ < looks_.size()) {
    if (const uint32_t missing = missing_rounds(); missing > 0) {
      num_rounds_ += missing;
      return contestants_.schedule(finalists_, missing);
    }
    if (!look_discarded_ && !is_block_sound()) {
      discard_block();
    } else {
      take_look();
    }
  }
  return {};
}

uint32_t Finals::missing_rounds() const {
  if (num_rounds_ >= max_rounds_) return 0;
  const Slot leader = contestants_.best(tied_, rounds());
  uint32_t missing = 0;
  for (const Slot slot : tied_) {
    if (slot == leader && tied_.size() > 1) continue;
    // One that alone may win has no rival, and still needs samples beside what it is compared with.
    const uint32_t pairs = contestants_.samples().num_clean_pairs(slot, leader, rounds());
    if (pairs < looks_[look_]) missing = std::max(missing, looks_[look_] - pairs);
  }
  return std::min(missing, max_rounds_ - num_rounds_);
}

bool Finals::is_block_sound() const {
  const Rounds block{block_first_, contestants_.last_round()};
  if (contestants_.samples().clean_share(block) < options_.min_clean_share) return false;
  const double clock = contestants_.samples().median_clock(block);
  return clock <= 0 || usual_clock_ <= 0 || std::abs(clock / usual_clock_ - 1) <= options_.max_clock_shift;
}

void Finals::discard_block() {
  const uint32_t block_rounds = contestants_.last_round() + 1 - block_first_;
  contestants_.samples().discard({block_first_, contestants_.last_round()});
  num_rounds_ -= block_rounds;
  // Replace the block with one look's worth of rounds, not up to twice that: conditions that are dirty now mostly stay
  // so.
  max_rounds_ = num_rounds_ + looks_[look_];
  block_first_ = contestants_.last_round() + 1;
  look_discarded_ = discarded_ = true;
}

void Finals::take_look() {
  const Slot leader = contestants_.best(tied_, rounds());
  struct Rival {
    double p;
    Slot slot;
  };
  std::vector<Rival> rivals;
  for (const Slot slot : tied_) {
    if (slot == leader) continue;
    auto ratios = contestants_.samples().log_ratios(slot, leader, rounds());
    for (auto& ratio : ratios) ratio -= options_.margin;
    rivals.push_back({signed_rank(ratios).p_positive, slot});
  }
  std::sort(rivals.begin(), rivals.end(),
            [](const Rival& a, const Rival& b) { return std::pair(a.p, a.slot) < std::pair(b.p, b.slot); });
  for (size_t i = 0; i < rivals.size(); ++i) {  // Holm: the first hypothesis not rejected keeps the rest
    if (rivals[i].p >= options_.level / 2 / static_cast<double>(rivals.size() - i)) break;
    std::erase(tied_, rivals[i].slot);
  }
  if (const double clock = contestants_.samples().median_clock({block_first_, contestants_.last_round()}); clock > 0) {
    usual_clock_ = clock;
  }
  block_first_ = contestants_.last_round() + 1;
  look_discarded_ = false;
  look_ = tied_.size() == 1 ? looks_.size() : look_ + 1;
  if (look_ < looks_.size()) max_rounds_ = std::max(num_rounds_, 2 * looks_[look_]);
}

}  // namespace attune
