// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config.h"

namespace attune {

/// A parsed rule or condition. Grammar, C precedence: integers, decimals (0.5), 'text', names with dots, ( ), unary -
/// !,
/// * / %, + -, < <= > >=, == !=, &&, ||, and min(a, b), max(a, b), ceil_div(a, b). Integers are 64-bit and overflow is
/// an error; / and % by zero are errors; comparisons give 0 or 1; decimals (number_of()) only compare, and take part in
/// min and max; other texts only compare with == and !=, and equal no number.
/// At most 2048 characters and 64 levels of nesting.
class Expression {
 public:
  /// Whether a rule's value is true: a number other than zero. Throws invalid_input for another text.
  static bool is_true(const Value& value);
  using Lookup = std::function<std::optional<Value>(std::string_view name)>;
  static Expression parse(std::string_view text);  ///< Throws invalid_input with the position.
  Value evaluate(
      const Lookup& lookup) const;  ///< Throws invalid_input: unknown name, wrong type, overflow, division by zero.
  /// Like evaluate(), but empty when the expression reads a name without a value, such as an inactive parameter. && and
  /// || read no more operands than they need.
  std::optional<Value> evaluate_if_known(const Lookup& lookup) const;
  bool truth(const Lookup& lookup) const;  ///< True if the value is not zero.
  std::vector<std::string> names() const;  ///< Variables in the expression, each once, in order.

  struct Node;

 private:
  std::shared_ptr<const Node> root_;
};

}  // namespace attune
