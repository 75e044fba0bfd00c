// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/random.h"
#include "core/search_space.h"

namespace attune {

/// The configs a strategy may ask for: those that survived pruning, or a whole space.
class Domain {
 public:
  Domain(SearchSpace space, std::optional<std::vector<uint64_t>> allowed);

  const SearchSpace& space() const noexcept { return space_; }
  /// Number of positions. For a whole space this includes indices that repeat a config.
  uint64_t size() const noexcept { return allowed_ ? allowed_->size() : space_.size(); }
  uint64_t index(uint64_t position) const { return allowed_ ? (*allowed_)[position] : position; }
  /// True if the index is allowed and is the first one of its config.
  bool contains(uint64_t index) const;
  /// Mean difference of two configs over their parameters: 0 (equal) … 1. Numbers differ by the distance of their
  /// positions in the value list, texts by 0 or 1.
  double distance(uint64_t a, uint64_t b) const;

 private:
  SearchSpace space_;
  std::optional<std::vector<uint64_t>> allowed_;
};

/// Returns the positions of a domain in random order, each once: a Fisher-Yates shuffle that stores only the touched
/// positions, so memory grows with the number returned.
class RandomOrder {
 public:
  RandomOrder(uint64_t size, uint64_t seed) : size_(size), random_(seed) {}
  std::optional<uint64_t> next();
  bool exhausted() const noexcept { return given_ == size_; }

 private:
  uint64_t size_, given_ = 0;
  Random random_;
  std::unordered_map<uint64_t, uint64_t> moved_;
};

/// Indices that were asked for or told; none is asked for twice.
class Trials {
 public:
  Trials(uint64_t max_trials) : max_trials_(max_trials) {}
  bool add(uint64_t index) { return known_.insert(index).second; }
  bool has(uint64_t index) const { return known_.contains(index); }
  bool spent() const noexcept { return known_.size() >= max_trials_; }

 private:
  uint64_t max_trials_;
  std::set<uint64_t> known_;
};

}  // namespace attune
