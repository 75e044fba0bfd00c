// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config.h"
#include "core/space/config_table.h"
#include "core/space/expression.h"

namespace attune {

enum class Binding : uint8_t { compile_time, launch_time };

/// One dimension of a space. `active_if` is an expression over the parameters before it (core/space/expression.h). An
/// inactive parameter is absent from the Config; a parameter whose condition reads an inactive one is inactive too.
/// Values that are all numbers (number_of()) are ordered as given: neighbours are one step away. Others are not
/// ordered. `part`: index of the sub-problem whose short list supplies the values.
struct Parameter {
  std::string name;
  std::vector<Value> values;
  Binding binding = Binding::launch_time;
  std::string active_if;
  std::optional<int> part;
  bool operator==(const Parameter&) const = default;
};

/// A reason to exclude a config: `bm*bk*2*stages <= device.shared_bytes`. The expression is true for allowed configs;
/// its variables are parameters, `problem.<attribute>` and `device.<fact>`. A rule that reads an inactive parameter
/// allows the config.
struct Rule {
  std::string id, expression, reason;
  bool operator==(const Rule&) const = default;
};

/// Advice to a search: it leaves out configs that are rarely fast, which can still be prepared, checked and served. A
/// search applies one set.
struct RuleSet {
  std::string name;
  std::vector<Rule> rules;
  bool operator==(const RuleSet&) const = default;
};

/// What the values of a parameter or attribute stand for where they are a library's ids: `rows` of the tiles 15 and 20
/// is 64 and 128. Its number is called `<parameter>.<name>`. A value that is not listed has none.
struct Meaning {
  std::string parameter, name;
  std::vector<std::pair<Value, int64_t>> numbers;
  bool operator==(const Meaning&) const = default;
};

/// A positive number that says what a config does, by which a model of the times compares configs as well: how many
/// elements a unit computes, say. The expression reads what those of rules read, and meanings; where it reads a name
/// that has no value for a config, the config lacks the feature.
struct Feature {
  std::string name, expression;
  /// It is an estimate of the time, in any unit: a search by a model begins where it is shortest.
  bool is_estimate = false;
  bool operator==(const Feature&) const = default;
};

/// The configs a solver offers for a problem, as pure data that can be sent to a worker and stored in the journal.
class SearchSpace {
 public:
  SearchSpace() = default;
  /// All combinations, the last parameter varying fastest; without parameters, one empty Config. Throws invalid_input
  /// for an empty or repeated parameter or value, an invalid rule or condition, or more than 2^63 combinations.
  /// `sets`: the default set first.
  static SearchSpace product(std::vector<Parameter> parameters, std::vector<Rule> rules,
                             std::vector<RuleSet> sets = {});
  /// A vendor's algorithms: rows of attributes, never list positions. Duplicate rows are kept once.
  static SearchSpace listed(ConfigTable configs);
  static SearchSpace listed(const std::vector<Config>& configs) { return listed(ConfigTable(configs)); }

  /// Number of indices, before pruning.
  uint64_t size() const noexcept { return size_; }
  /// Config of an index. Indices that differ only in inactive parameters give equal Configs; index_of() returns the
  /// first of them. O(parameters). Throws invalid_input for an index beyond size().
  Config at(uint64_t index) const;
  /// Values of an index by parameter, null where inactive: like at(), but makes no Config. Empty for a listed space.
  std::vector<const Value*> values_at(uint64_t index) const;
  /// The first of the indices that give an equal Config.
  uint64_t canonical(uint64_t index) const;
  std::optional<uint64_t> index_of(const Config& config) const;
  /// Canonical indices, ascending, that differ in one active parameter by one step (texts: by any other value), or, in
  /// a listed space, in the fewest attributes (O(size)).
  std::vector<uint64_t> neighbours(uint64_t index) const;
  /// The configs of a listed space.
  const ConfigTable& table() const noexcept { return listed_; }

  bool is_listed() const noexcept { return parameters_.empty(); }
  std::span<const Parameter> parameters() const noexcept { return parameters_; }
  /// What a config must keep to be prepared.
  std::span<const Rule> rules() const noexcept { return rules_; }
  std::span<const RuleSet> rule_sets() const noexcept { return rule_sets_; }
  /// What a search applies: rules(), and the first of rule_sets().
  std::vector<Rule> search_rules() const;
  /// Returns a copy with one set only: the one of this name, else the first, followed by `more` rules. Throws
  /// invalid_input for an expression that cannot be parsed.
  SearchSpace with_rule_set(std::string_view name, std::vector<Rule> more = {}) const;
  /// Returns a copy with one parameter's values replaced by a part's short list. Throws not_found.
  SearchSpace with_values(std::string_view parameter, std::vector<Value> values) const;
  /// Returns a copy with these meanings and features in place of its own. Throws invalid_input for an expression that
  /// cannot be parsed, and for a name that is there twice.
  SearchSpace with_features(std::vector<Meaning> meanings, std::vector<Feature> features) const;
  const std::vector<Meaning>& meanings() const noexcept { return meanings_; }
  const std::vector<Feature>& features() const noexcept { return features_; }

  std::string to_json() const;
  static SearchSpace from_json(std::string_view json);  ///< Throws invalid_input.
  bool operator==(const SearchSpace& other) const;

 private:
  std::vector<size_t> digits_of(uint64_t index) const;
  uint64_t index_of_digits(const std::vector<size_t>& digits) const;
  std::vector<const Value*> active_values(const std::vector<size_t>& digits) const;
  bool is_active(size_t parameter, const std::vector<const Value*>& before) const;

  std::vector<Parameter> parameters_;
  std::vector<std::optional<Expression>> conditions_;  ///< active_if of each parameter, parsed.
  std::vector<Rule> rules_;
  std::vector<RuleSet> rule_sets_;
  std::vector<Meaning> meanings_;
  std::vector<Feature> features_;
  ConfigTable listed_;
  uint64_t size_ = 0;
};

}  // namespace attune
