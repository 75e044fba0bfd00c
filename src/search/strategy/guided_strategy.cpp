// SPDX-License-Identifier: MIT
#include "search/strategy/guided_strategy.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/hash.h"

namespace attune {
namespace {

/// Random draws per spread config; the one farthest from all earlier configs is chosen.
constexpr size_t kSpreadDraws = 32;
/// Number of best configs whose neighbourhoods are searched before random configs are tried.
constexpr size_t kMaxCentres = 8;

}  // namespace

// The names of the seeds are those of the first such search.
GuidedStrategy::GuidedStrategy(SearchTask task, const StrategyOptions& options, uint64_t num_spread)
    : domain_(std::move(task.domain)),
      start_(std::move(task.start)),
      num_spread_(num_spread),
      order_(domain_, derive_seed(options.seed, "local")),
      random_(derive_seed(options.seed, "neighbours")),
      known_(options.max_trials + options.spare_trials) {}

std::vector<uint64_t> GuidedStrategy::ask(size_t max_count) {
  std::vector<uint64_t> asked;
  while (asked.size() < max_count && !known_.spent()) {
    auto index = next();
    if (!index) break;
    if (!domain_.contains(*index) || !known_.add(*index)) continue;
    pending_.insert(*index);
    asked.push_back(*index);
  }
  return asked;
}

void GuidedStrategy::tell(const Trial& trial) {
  const bool is_new = known_.add(trial.index);
  pending_.erase(trial.index);
  if (trial.index >= domain_.space().size()) return;
  if (is_new) spread_.push_back(trial.index);  // from an earlier run: it counts as spread
  const bool is_ok = trial.status == Status::ok;
  if (is_ok && trial.median_us > 0) {
    double& us = times_[trial.index];
    if (std::exchange(us, trial.median_us) != trial.median_us) note_change();
  } else if (times_.erase(trial.index) > 0) {
    note_change();
  }
  if (is_ok && trial.median_us == 0)
    untimed_.insert(trial.index);
  else
    untimed_.erase(trial.index);
}

bool GuidedStrategy::exhausted() const {
  if (known_.spent() || ended_) return true;
  // An order that gave up leaves configs that only neighbourhoods reach.
  return next_start_ == start_.size() && order_.exhausted() && !order_.gave_up() && drawn_.empty();
}

std::optional<uint64_t> GuidedStrategy::next() {
  if (ended_) return std::nullopt;
  if (next_start_ < start_.size()) return start_[next_start_++];
  if (spread_.size() < num_spread_) {
    if (auto index = next_spread()) return index;
  }
  if (auto index = next_guess()) return index;
  // Pending results may show a better place than a random config.
  if (!pending_.empty()) return std::nullopt;
  const auto index = next_random();
  ended_ = !index && untimed_.empty();
  return index;
}

std::optional<uint64_t> GuidedStrategy::next_random() {
  if (!drawn_.empty()) {
    const uint64_t index = drawn_.back();
    drawn_.pop_back();
    return index;
  }
  return order_.next();
}

std::optional<uint64_t> GuidedStrategy::next_spread() {
  while (drawn_.size() < kSpreadDraws) {
    const auto index = order_.next();
    if (!index) break;
    if (!known_.has(*index)) drawn_.push_back(*index);
  }
  std::erase_if(drawn_, [&](uint64_t index) { return known_.has(index); });
  if (drawn_.empty()) return std::nullopt;
  const auto gap = [&](uint64_t index) {
    double nearest = std::numeric_limits<double>::infinity();
    for (const uint64_t other : spread_) nearest = std::min(nearest, domain_.distance(index, other));
    return nearest;
  };
  size_t farthest = 0;
  double widest = -1;
  for (size_t i = 0; i < drawn_.size(); ++i) {
    if (const double here = gap(drawn_[i]); here > widest) {
      widest = here;
      farthest = i;
    }
  }
  const uint64_t index = drawn_[farthest];
  drawn_.erase(drawn_.begin() + static_cast<std::ptrdiff_t>(farthest));
  spread_.push_back(index);
  return index;
}

std::vector<uint64_t> GuidedStrategy::best(size_t max_count) const {
  std::vector<std::pair<double, uint64_t>> ranking;
  for (const auto& [index, us] : times_) ranking.emplace_back(us, index);
  const size_t count = std::min(max_count, ranking.size());
  std::partial_sort(ranking.begin(), ranking.begin() + static_cast<std::ptrdiff_t>(count), ranking.end());
  std::vector<uint64_t> best;
  for (size_t i = 0; i < count; ++i) best.push_back(ranking[i].second);
  return best;
}

std::optional<uint64_t> GuidedStrategy::next_neighbour() {
  // Where no random configs are left, every neighbourhood is searched.
  for (const uint64_t centre : best(order_.gave_up() ? times_.size() : kMaxCentres)) {
    const auto& neighbours = neighbours_of(centre);
    if (!neighbours.empty()) return neighbours[random_.below(neighbours.size())];
  }
  return std::nullopt;
}

const std::vector<uint64_t>& GuidedStrategy::neighbours_of(uint64_t centre) {
  const auto [found, is_new] = neighbours_.try_emplace(centre);
  std::vector<uint64_t>& left = found->second;
  if (is_new) {
    left = domain_.space().neighbours(centre);
    std::erase_if(left, [&](uint64_t index) { return !domain_.contains(index); });
  }
  std::erase_if(left, [&](uint64_t index) { return known_.has(index); });
  return left;
}

}  // namespace attune
