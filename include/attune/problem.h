// SPDX-License-Identifier: MIT
#pragma once
#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/dtype.h"
#include "attune/export.h"

namespace attune {

/// An op name and its attributes, as text: the form used in the journal, CSV files and the command line. A value;
/// `parse(p.key()) == p`. The key is both the database key and the text a person types:
/// `gemm_a16w16 m=128 n=1536 k=7168 dtype=bf16 outdtype=bf16 bias=0`.
class ATTUNE_API Problem {
 public:
  /// Parses the syntax only: a name, then `name=value` pairs separated by blanks. `Op::normalise()` checks values,
  /// fills in defaults and orders the attributes. Throws invalid_input.
  static Problem parse(std::string_view text);
  Problem() = default;
  Problem(std::string op, std::vector<std::pair<std::string, std::string>> attributes);

  std::string_view op() const noexcept { return op_; }
  const std::vector<std::pair<std::string, std::string>>& attributes() const noexcept { return attributes_; }
  bool has(std::string_view name) const noexcept;
  /// Value of an attribute. Throws invalid_input when it is missing or has another type.
  int64_t integer(std::string_view name) const;
  DType dtype(std::string_view name) const;
  const std::string& text(std::string_view name) const;
  /// Value of an attribute, or `default_value` when it is missing.
  int64_t integer_or(std::string_view name, int64_t default_value) const;
  /// Returns a copy with one attribute set.
  Problem with(std::string_view name, std::string value) const;

  const std::string& key() const noexcept { return key_; }
  bool operator==(const Problem& other) const noexcept { return key_ == other.key_; }
  auto operator<=>(const Problem& other) const noexcept { return key_ <=> other.key_; }

 private:
  std::string op_;
  std::vector<std::pair<std::string, std::string>> attributes_;
  std::string key_;
};

/// A problem as a hash of 128 bits: no text, no heap. of() computes XXH3-128 over the values in schema order, in about
/// 10 ns; lookups use a hash of their own.
struct ATTUNE_API ProblemKey {
  uint64_t high = 0, low = 0;
  static ProblemKey of(uint16_t op, std::span<const int64_t> values) noexcept;
  auto operator<=>(const ProblemKey&) const = default;
};

}  // namespace attune
