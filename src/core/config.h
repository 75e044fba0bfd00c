// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace attune {

/// A parameter's value. A string may be a Candidate::nested_name() (composite solvers).
using Value = std::variant<int64_t, std::string>;

std::string to_text(const Value& value);
Value parse_value(std::string_view text);  ///< A whole number if the text is one, else text.
/// Number of a value that is one: a whole number, or a text in the form of a decimal (`0.5`, `-1.25`), which keeps its
/// digits. Numbers are ordered, other texts are not.
std::optional<double> number_of(const Value& value) noexcept;

/// Named parameters of one candidate, ordered by name; inactive parameters are absent. A value.
class Config {
 public:
  Config() = default;
  /// Throws invalid_input for a name or value that could not be read back from key(): names and values contain no
  /// semicolon, equals sign, quote or character that is not printable ASCII; names no blank, comma or percent sign
  /// either; brackets must nest.
  explicit Config(std::vector<std::pair<std::string, Value>> values);
  /// Parses `bk=64;bm=128`; the empty text is the empty config. Throws invalid_input.
  static Config parse(std::string_view key);

  bool has(std::string_view name) const noexcept;
  const Value& at(std::string_view name) const;          ///< Throws not_found.
  int64_t integer(std::string_view name) const;          ///< Throws not_found; invalid_input if it is text.
  const std::string& text(std::string_view name) const;  ///< Throws not_found; invalid_input if it is a number.
  const std::vector<std::pair<std::string, Value>>& values() const noexcept { return values_; }
  /// `bk=64;bm=128`: parameters by name. A blank, comma or percent sign in a value is `%20`, `%2C` or `%25`, so that a
  /// key is one word and one cell of a table. parse(c.key()) == c.
  const std::string& key() const noexcept { return key_; }
  bool operator==(const Config& other) const noexcept { return key_ == other.key_; }
  auto operator<=>(const Config& other) const noexcept { return key_ <=> other.key_; }

 private:
  std::vector<std::pair<std::string, Value>> values_;
  std::string key_;
};

}  // namespace attune
