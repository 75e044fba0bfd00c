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
  LocalStrategy(Domain domain, const StrategyOptions& options)
      : domain_(std::move(domain)),
        start_(options.start),
        num_spread_(std::max<uint64_t>(8, options.max_trials / kSpreadShare)),
        order_(domain_.size(), derive_seed(options.seed, "local")),
        random_(derive_seed(options.seed, "neighbours")),
        trials_(options.max_trials) {}

  std::vector<uint64_t> ask(size_t max_count) override {
    std::vector<uint64_t> asked;
    while (asked.size() < max_count && !trials_.spent()) {
      auto index = next();
      if (!index) break;
      if (!domain_.contains(*index) || !trials_.add(*index)) continue;
      pending_.insert(*index);
      asked.push_back(*index);
    }
    return asked;
  }

  void tell(uint64_t index, Status status, double median_us) override {
    const bool is_new = trials_.add(index);
    pending_.erase(index);
    if (index >= domain_.space().size()) return;
    if (is_new) spread_.push_back(index);  // from an earlier run: it counts as spread
    if (status == Status::ok && median_us > 0) {
      times_[index] = median_us;
    } else {
      times_.erase(index);
    }
  }

  bool exhausted() const override {
    return trials_.spent() || (next_start_ == start_.size() && order_.exhausted() && drawn_.empty());
  }

 private:
  std::optional<uint64_t> next() {
    if (next_start_ < start_.size()) return start_[next_start_++];
    if (spread_.size() < num_spread_) {
      if (auto index = next_spread()) return index;
    }
    if (auto index = next_neighbour()) return index;
    // Pending results may show a better neighbourhood than a random config.
    return pending_.empty() ? next_random() : std::nullopt;
  }

  std::optional<uint64_t> next_random() {
    if (!drawn_.empty()) {
      const uint64_t index = drawn_.back();
      drawn_.pop_back();
      return index;
    }
    const auto position = order_.next();
    return position ? std::optional(domain_.index(*position)) : std::nullopt;
  }

  std::optional<uint64_t> next_spread() {
    while (drawn_.size() < kSpreadDraws) {
      const auto position = order_.next();
      if (!position) break;
      const uint64_t index = domain_.index(*position);
      if (domain_.contains(index) && !trials_.has(index)) drawn_.push_back(index);
    }
    std::erase_if(drawn_, [&](uint64_t index) { return trials_.has(index); });
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
    const size_t num_centres = std::min(kMaxCentres, ranking.size());
    std::partial_sort(ranking.begin(), ranking.begin() + static_cast<std::ptrdiff_t>(num_centres), ranking.end());
    ranking.resize(num_centres);
    for (const auto& [us, centre] : ranking) {
      auto neighbours = neighbours_of(centre);
      if (!neighbours.empty()) return neighbours[random_.below(neighbours.size())];
    }
    return std::nullopt;
  }

  std::vector<uint64_t> neighbours_of(uint64_t centre) {
    auto [found, is_new] = neighbours_.try_emplace(centre);
    if (is_new) found->second = domain_.space().neighbours(centre);
    std::erase_if(found->second, [&](uint64_t index) { return trials_.has(index) || !domain_.contains(index); });
    return found->second;
  }

  Domain domain_;
  std::vector<uint64_t> start_;
  size_t next_start_ = 0;
  uint64_t num_spread_;
  std::vector<uint64_t> spread_, drawn_;
  RandomOrder order_;
  Random random_;
  Trials trials_;
  std::set<uint64_t> pending_;                            ///< Asked for, not told yet.
  std::map<uint64_t, double> times_;                      ///< Times told with status ok.
  std::map<uint64_t, std::vector<uint64_t>> neighbours_;  ///< Untried neighbours; computed once per centre.
};

}  // namespace

std::unique_ptr<Strategy> make_local(Domain domain, const StrategyOptions& options) {
  return std::make_unique<LocalStrategy>(std::move(domain), options);
}

}  // namespace attune
