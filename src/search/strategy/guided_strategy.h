// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "search/strategy/search_task.h"
#include "search/strategy/strategy.h"

namespace attune {

/// A search that begins with `task.start` and with configs far from each other, and then asks for its guesses: what the
/// results so far point to. Where it has none it waits for the answers to what it asked; without any it draws at
/// random.
class GuidedStrategy : public Strategy {
 public:
  std::vector<uint64_t> ask(size_t max_count) final;
  void tell(const Trial& trial) final;
  bool exhausted() const final;
  std::string remark() const final { return order_.remark(); }

 protected:
  /// `num_spread`: how many configs are to be far from each other.
  GuidedStrategy(SearchTask task, const StrategyOptions& options, uint64_t num_spread);

  /// Returns a config that was neither asked for nor told; nothing if the results point to none.
  virtual std::optional<uint64_t> next_guess() = 0;
  /// A time has changed, or was added or taken away.
  virtual void note_change() {}

  const Domain& domain() const noexcept { return domain_; }
  bool is_known(uint64_t index) const { return known_.has(index); }
  /// Times told with status ok, in µs.
  const std::map<uint64_t, double>& times() const noexcept { return times_; }
  /// The configs with times, the fastest first, at most `max_count` of them.
  std::vector<uint64_t> best(size_t max_count) const;
  /// The neighbours of a config that were neither asked for nor told.
  const std::vector<uint64_t>& neighbours_of(uint64_t centre);
  /// Returns a random neighbour of the fastest of a few configs that still has one.
  std::optional<uint64_t> next_neighbour();
  Random& random() noexcept { return random_; }

 private:
  std::optional<uint64_t> next();
  std::optional<uint64_t> next_random();
  std::optional<uint64_t> next_spread();

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

}  // namespace attune
