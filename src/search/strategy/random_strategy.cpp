// SPDX-License-Identifier: MIT
#include <limits>

#include "base/hash.h"
#include "search/strategy/strategies.h"

namespace attune {
namespace {

/// Exhaustive search is a random sample without a limit.
class RandomStrategy : public Strategy {
 public:
  RandomStrategy(SearchTask task, const StrategyOptions& options, uint64_t max_trials)
      : domain_(std::move(task.domain)),
        start_(std::move(task.start)),
        order_(domain_, derive_seed(options.seed, "random")),
        known_(max_trials) {}

  std::vector<uint64_t> ask(size_t max_count) override {
    std::vector<uint64_t> asked;
    while (asked.size() < max_count && !known_.spent()) {
      const auto index = next();
      if (!index) break;
      if (domain_.contains(*index) && known_.add(*index)) asked.push_back(*index);
    }
    return asked;
  }
  void tell(const Trial& trial) override { known_.add(trial.index); }
  bool exhausted() const override { return known_.spent() || (next_start_ == start_.size() && order_.exhausted()); }
  std::string remark() const override { return order_.remark(); }

 private:
  std::optional<uint64_t> next() { return next_start_ < start_.size() ? start_[next_start_++] : order_.next(); }

  Domain domain_;
  std::vector<uint64_t> start_;
  size_t next_start_ = 0;
  RandomOrder order_;
  KnownIndices known_;
};

}  // namespace

std::unique_ptr<Strategy> make_exhaustive(SearchTask task, const StrategyOptions& options) {
  return std::make_unique<RandomStrategy>(std::move(task), options, std::numeric_limits<uint64_t>::max());
}
std::unique_ptr<Strategy> make_random(SearchTask task, const StrategyOptions& options) {
  return std::make_unique<RandomStrategy>(std::move(task), options, options.max_trials + options.spare_trials);
}

}  // namespace attune
