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

/// The configs a strategy may ask for: those that pruning left, or a whole space.
class Domain {
 public:
  Domain(SearchSpace space, std::optional<std::vector<uint64_t>> allowed);

  const SearchSpace& space() const noexcept { return space_; }
  /// Number of positions; of a whole space, indices that repeat a config included.
  uint64_t size() const noexcept { return allowed_ ? allowed_->size() : space_.size(); }
  uint64_t index(uint64_t position) const { return allowed_ ? (*allowed_)[position] : position; }
  /// Allowed, and the first index of its config.
  bool contains(uint64_t index) const;
  /// How different two configs are, by parameter: 0 (the same) … 1. Numbers by the distance of their places, texts 0
  /// or 1.
  double distance(uint64_t a, uint64_t b) const;

 private:
  SearchSpace space_;
  std::optional<std::vector<uint64_t>> allowed_;
};

/// Gives the positions of a domain in random order, each once, in memory that grows with those given: a Fisher-Yates
/// shuffle of which only the touched places are kept.
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

/// Indices asked for or told of: none is asked for twice.
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
