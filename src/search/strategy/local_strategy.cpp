// SPDX-License-Identifier: MIT
#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/hash.h"
#include "search/strategy/strategies.h"

namespace attune {
namespace {

/// One trial in this many is spread over the space before the neighbourhoods are searched.
constexpr uint64_t kSpreadShare = 4;
/// Random draws per spread config; the one farthest from all earlier configs is chosen.
constexpr size_t kSpreadDraws = 32;
/// Number of best configs whose neighbourhoods are searched before random configs are tried.
constexpr size_t kMaxCentres = 8;

class LocalStrategy : public Strategy {
 public:
  LocalStrategy(SearchTask task, const StrategyOptions& options)
      : domain_(std::move(task.domain)),
        start_(std::move(task.start)),
        num_spread_(std::max<uint64_t>(8, options.max_trials / kSpreadShare)),
        order_(domain_, derive_seed(options.seed, "local")),
        random_(derive_seed(options.seed, "neighbours")),
        known_(options.max_trials + options.spare_trials) {}

  std::vector<uint64_t> ask(size_t max_count) override {
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

  void tell(const Trial& trial) override {
    const bool is_new = known_.add(trial.index);
    pending_.erase(trial.index);
    if (trial.index >= domain_.space().size()) return;
    if (is_new) spread_.push_back(trial.index);  // from an earlier run: it counts as spread
    const bool is_ok = trial.status == Status::ok;
    if (is_ok && trial.median_us > 0) {
      times_[trial.index] = trial.median_us;
    } else {
      times_.erase(trial.index);
    }
    if (is_ok && trial.median_us == 0)
      untimed_.insert(trial.index);
    else
      untimed_.erase(trial.index);
  }

  bool exhausted() const override {
    if (known_.spent() || ended_) return true;
    // An order that gave up leaves configs that only neighbourhoods reach.
    return next_start_ == start_.size() && order_.exhausted() && !order_.gave_up() && drawn_.empty();
  }

  std::string remark() const override { return order_.remark(); }

 private:
  std::optional<uint64_t> next() {
    if (ended_) return std::nullopt;
    if (next_start_ < start_.size()) return start_[next_start_++];
    if (spread_.size() < num_spread_) {
      if (auto index = next_spread()) return index;
    }
    if (auto index = next_neighbour()) return index;
    // Pending results may show a better neighbourhood than a random config.
    if (!pending_.empty()) return std::nullopt;
    const auto index = next_random();
    ended_ = !index && untimed_.empty();
    return index;
  }

  std::optional<uint64_t> next_random() {
    if (!drawn_.empty()) {
      const uint64_t index = drawn_.back();
      drawn_.pop_back();
      return index;
    }
    return order_.next();
  }

  std::optional<uint64_t> next_spread() {
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

  /// Returns a random untried neighbour of the best config that still has one.
  std::optional<uint64_t> next_neighbour() {
    std::vector<std::pair<double, uint64_t>> ranking;
    for (const auto& [index, us] : times_) ranking.emplace_back(us, index);
    // Where no random configs are left, every neighbourhood is searched.
    const size_t num_centres = order_.gave_up() ? ranking.size() : std::min(kMaxCentres, ranking.size());
    std::partial_sort(ranking.begin(), ranking.begin() + static_cast<std::ptrdiff_t>(num_centres), ranking.end());
    ranking.resize(num_centres);
    for (const auto& [us, centre] : ranking) {
      const auto& neighbours = neighbours_of(centre);
      if (!neighbours.empty()) return neighbours[random_.below(neighbours.size())];
    }
    return std::nullopt;
  }

  const std::vector<uint64_t>& neighbours_of(uint64_t centre) {
    const auto [found, is_new] = neighbours_.try_emplace(centre);
    std::vector<uint64_t>& left = found->second;
    if (is_new) {
      left = domain_.space().neighbours(centre);
      std::erase_if(left, [&](uint64_t index) { return !domain_.contains(index); });
    }
    std::erase_if(left, [&](uint64_t index) { return known_.has(index); });
    return left;
  }

  Domain domain_;
  std::vector<uint64_t> start_;
  size_t next_start_ = 0;
  uint64_t num_spread_;
  std::vector<uint64_t> spread_, drawn_;
  RandomOrder order_;
  Random random_;
  KnownIndices known_;
  bool ended_ = false;                                    ///< Nothing was left, and no time was missing.
  std::set<uint64_t> pending_;                            ///< Asked for, not told yet.
  std::set<uint64_t> untimed_;                            ///< Told as correct, without a time yet.
  std::map<uint64_t, double> times_;                      ///< Times told with status ok.
  std::map<uint64_t, std::vector<uint64_t>> neighbours_;  ///< Untried neighbours; computed once per centre.
};

}  // namespace

std::unique_ptr<Strategy> make_local(SearchTask task, const StrategyOptions& options) {
  return std::make_unique<LocalStrategy>(std::move(task), options);
}

}  // namespace attune
