// SPDX-License-Identifier: MIT
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/space/search_space.h"
#include "search/strategy/domain.h"
#include "search/strategy/space_rules.h"

namespace attune {

/// How far apart two configs are in one coordinate, from 0 to 1. Numbers: a part for being different at all, the rest
/// by their ranks; texts, and a value and none, are 1 apart. The numbers of a library's attributes are names as well as
/// sizes: of several parts for being different, 0.15 predicted the times of cuBLASLt and of generated kernels
/// best (docs/adr/0030).
inline float coordinate_distance(float a, float b) noexcept {
  constexpr float kDifferent = 0.15F;
  const float apart = kDifferent + (1 - kDifferent) * std::abs(a - b);
  return a == b ? 0 : std::min(apart, 1.0F);
}

/// The configs of a space as points, with a coordinate for each parameter, or each attribute of a listed space, in
/// which they differ, for each of its meanings, and for each feature of the space. Not thread-safe: it keeps features
/// that it has evaluated. Refers to the space, which must outlive it.
class ConfigPoints {
 public:
  ConfigPoints(const SearchSpace& space, const Problem& problem, const DeviceInfo& device);

  size_t num_coordinates() const noexcept { return scales_.size() + features_.size(); }
  /// The coordinates of an index below the size of the space: the rank of a number among its values, from 0 to 1; a
  /// whole number of its own for a text; the logarithm of a feature, from 0 to 1 over most of the space; -2 for what
  /// the config lacks, also a feature that has no value or none above 0 for it. About 1 µs for each feature of values
  /// that it was not evaluated for before, which take some 50 bytes from then on.
  std::vector<float> at(uint64_t index);

  /// Configs that the space's estimate of times does not tell apart.
  struct Group {
    int64_t estimate = 0;
    std::vector<uint64_t> configs;
  };
  /// All configs of the domain, in the order of the estimate; none where the space has no estimate, or the domain
  /// has more than 300,000. O(size of the domain); about 0.2 µs a config of a listed space, 1 µs of another.
  std::vector<Group> groups_by_estimate(const Domain& domain) const;

 private:
  /// A parameter or attribute, or a meaning of one.
  struct Scale {
    size_t position = 0;             ///< In the space's parameters, or in the columns of its table.
    std::vector<float> coordinates;  ///< By value.
  };
  struct LogFeature {
    const Feature* feature;
    Expression expression;
    std::vector<size_t> positions;  ///< Whose values it reads.
    double min = 0, range = 1;      ///< Of the logarithms.
    /// Coordinates by the values that it reads (key_of()).
    std::unordered_map<uint64_t, float> known;
  };
  /// Where an expression finds a name: in the values of a position, as they are or as what they stand for.
  struct Source {
    size_t position = 0;
    std::vector<std::optional<Value>> numbers;  ///< By value; empty: the values themselves.
  };
  /// The place of each position's value in its list, from 1; 0: it has none.
  using Codes = std::vector<size_t>;

  std::span<const Value> values_of(size_t position) const;
  bool varies(size_t position) const;
  void add(size_t position, std::span<const std::optional<Value>> values);
  void add_meaning(size_t position, const Meaning& meaning);
  std::vector<size_t> positions_read_by(const Expression& expression) const;
  void set_range(LogFeature& feature) const;
  Codes codes_of(uint64_t index) const;
  /// A number of its own for all values of some positions; nothing if there are too many.
  std::optional<uint64_t> key_of(std::span<const size_t> positions, const Codes& codes) const;
  float coordinate_of(LogFeature& feature, const Codes& codes) const;
  std::optional<int64_t> value_of(const LogFeature& feature, const Codes& codes) const;

  const SearchSpace& space_;
  SpaceFacts facts_;
  std::map<std::string, Source, std::less<>> sources_;
  std::vector<Scale> scales_;
  std::vector<LogFeature> features_;
};

}  // namespace attune
