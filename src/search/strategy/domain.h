// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "attune/problem.h"
#include "base/random.h"
#include "core/device_info.h"
#include "core/space/search_space.h"

namespace attune {

/// When a domain stops to look.
struct DomainLimits {
  uint64_t max_enumerated = 1'000'000;  ///< Larger spaces are not enumerated.
  /// Random draws in a row without a config that the rules allow, after which no more are made. They take some tenths
  /// of a second, and miss a share of one config in ten thousand with a probability of 5e-5.
  uint64_t max_rejected = 100'000;
};

/// The configs a strategy may ask for: those of a space that its rules allow for a problem on a device, each by its
/// first index. A space of up to DomainLimits::max_enumerated indices is enumerated when the domain is made; of a
/// larger one the rules are evaluated for the configs that are asked about, so that all of it can be reached. Copies
/// share their contents. Const, thread-safe.
class Domain {
 public:
  /// Throws like SpaceRules. Costs about 1 µs per config and rule if the space is enumerated.
  Domain(SearchSpace space, const Problem& problem, const DeviceInfo& device, DomainLimits limits = {});

  const SearchSpace& space() const noexcept;
  const DomainLimits& limits() const noexcept;
  bool is_enumerated() const noexcept;
  /// Number of positions. If the space is not enumerated, this is its size: the positions are its indices, of which the
  /// domain contains some.
  uint64_t size() const noexcept;
  uint64_t index(uint64_t position) const;
  /// True if a strategy may ask for the index. O(log size), or the cost of all rules. Throws invalid_input when a rule
  /// cannot be evaluated.
  bool contains(uint64_t index) const;
  /// Mean difference of two configs over their parameters: 0 (equal) … 1. Numbers differ by the distance of their
  /// positions in the value list, texts by 0 or 1.
  double distance(uint64_t a, uint64_t b) const;

 private:
  struct Contents;
  std::shared_ptr<const Contents> contents_;
};

/// The indices of a domain in random order, each once: a Fisher-Yates shuffle that stores only the touched positions,
/// so memory grows with the number of draws. Of a domain that is not enumerated, it rejects the indices that the domain
/// does not contain, and gives up after DomainLimits::max_rejected of them in a row.
class RandomOrder {
 public:
  RandomOrder(Domain domain, uint64_t seed) : domain_(std::move(domain)), random_(seed) {}
  /// Returns nothing when it is exhausted.
  std::optional<uint64_t> next();
  bool exhausted() const noexcept { return gave_up_ || num_drawn_ == domain_.size(); }
  bool gave_up() const noexcept { return gave_up_; }
  /// One sentence for a person if it gave up; else empty.
  std::string remark() const;

 private:
  uint64_t draw();
  Domain domain_;
  uint64_t num_drawn_ = 0;
  bool gave_up_ = false;
  Random random_;
  std::unordered_map<uint64_t, uint64_t> moved_;
};

/// Indices that were asked for or told; none is asked for twice.
class KnownIndices {
 public:
  explicit KnownIndices(uint64_t max_count) : max_count_(max_count) {}
  bool add(uint64_t index) { return known_.insert(index).second; }
  bool has(uint64_t index) const { return known_.contains(index); }
  bool spent() const noexcept { return known_.size() >= max_count_; }

 private:
  uint64_t max_count_;
  std::set<uint64_t> known_;
};

}  // namespace attune
