// SPDX-License-Identifier: MIT
#include "search/exhaustive.h"

#include <algorithm>

namespace attune {

std::vector<Turn> Exhaustive::next(const std::vector<Slot>& slots) {
  constexpr size_t kTurnsAtOnce = 2048;
  if (slots.empty() || num_rounds_ >= warmup_ + iters_) return {};
  // A schedule holds either rounds to discard or rounds to keep, never both.
  const uint32_t left = (is_warmup() ? warmup_ : warmup_ + iters_) - num_rounds_;
  const auto affordable = static_cast<uint32_t>(std::max<size_t>(1, kTurnsAtOnce / slots.size()));
  num_wanted_ = std::min(left, affordable);
  return contestants_.schedule(slots, num_wanted_);
}

}  // namespace attune
