// SPDX-License-Identifier: MIT
#include <limits>

#include "base/hash.h"
#include "search/strategy/strategies.h"

namespace attune {
namespace {

/// Exhaustive search is a random sample without a limit.
class RandomStrategy : public Strategy {
 public:
  RandomStrategy(Domain domain, const StrategyOptions& options, uint64_t max_trials)
      : domain_(std::move(domain)),
        start_(options.start),
        order_(domain_.size(), derive_seed(options.seed, "random")),
        trials_(max_trials) {}

  std::vector<uint64_t> ask(size_t max_count) override {
    std::vector<uint64_t> asked;
    while (asked.size() < max_count && !trials_.spent()) {
      const auto index = next();
      if (!index) break;
      if (domain_.contains(*index) && trials_.add(*index)) asked.push_back(*index);
    }
    return asked;
  }
  void tell(uint64_t index, Status, double) override { trials_.add(index); }
  bool exhausted() const override { return trials_.spent() || (next_start_ == start_.size() && order_.exhausted()); }

 private:
  std::optional<uint64_t> next() {
    if (next_start_ < start_.size()) return start_[next_start_++];
    const auto position = order_.next();
    return position ? std::optional(domain_.index(*position)) : std::nullopt;
  }

  Domain domain_;
  std::vector<uint64_t> start_;
  size_t next_start_ = 0;
  RandomOrder order_;
  Trials trials_;
};

}  // namespace

std::unique_ptr<Strategy> make_exhaustive(Domain domain, const StrategyOptions& options) {
  return std::make_unique<RandomStrategy>(std::move(domain), options, std::numeric_limits<uint64_t>::max());
}
std::unique_ptr<Strategy> make_random(Domain domain, const StrategyOptions& options) {
  return std::make_unique<RandomStrategy>(std::move(domain), options, options.max_trials);
}

}  // namespace attune
