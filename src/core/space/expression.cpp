// SPDX-License-Identifier: MIT
#include "core/space/expression.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
#include "base/text.h"

namespace attune {
namespace {

/// Limits the tree's depth, and so the stack, for any text that a file may contain.
constexpr size_t kMaxLength = 2048;
constexpr int kMaxNesting = 64;

enum class Kind : uint8_t {
  constant,
  variable,
  negate,
  logical_not,
  multiply,
  divide,
  modulo,
  add,
  subtract,
  less,
  less_equal,
  greater,
  greater_equal,
  equal,
  not_equal,
  logical_and,
  logical_or,
  minimum,
  maximum,
  ceil_div
};

struct Operator {
  std::string_view text;
  Kind kind;
  int precedence;
};
/// Longer spellings precede their prefixes.
constexpr std::array<Operator, 13> kOperators = {{{"||", Kind::logical_or, 1},
                                                  {"&&", Kind::logical_and, 2},
                                                  {"==", Kind::equal, 3},
                                                  {"!=", Kind::not_equal, 3},
                                                  {"<=", Kind::less_equal, 4},
                                                  {">=", Kind::greater_equal, 4},
                                                  {"<", Kind::less, 4},
                                                  {">", Kind::greater, 4},
                                                  {"+", Kind::add, 5},
                                                  {"-", Kind::subtract, 5},
                                                  {"*", Kind::multiply, 6},
                                                  {"/", Kind::divide, 6},
                                                  {"%", Kind::modulo, 6}}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_start(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

}  // namespace

struct Expression::Node {
  Kind kind = Kind::constant;
  Value constant;
  std::string name;
  std::shared_ptr<const Node> left, right;
};

namespace {

using NodePtr = std::shared_ptr<const Expression::Node>;

/// Recursive descent; binary operators by precedence climbing.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {
    if (text.size() > kMaxLength) {
      fail(ErrorCode::invalid_input, "an expression has at most {} characters, got {}", kMaxLength, text.size());
    }
  }

  NodePtr parse() {
    auto root = binary(1);
    skip_blanks();
    if (position_ != text_.size()) error("expected an operator or the end");
    return root;
  }

 private:
  [[noreturn]] void error(std::string_view what) const {
    fail(ErrorCode::invalid_input, "{} at position {} of the expression '{}'", what, position_ + 1, text_);
  }
  void skip_blanks() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\t')) ++position_;
  }
  bool take(std::string_view token) {
    skip_blanks();
    if (!text_.substr(position_).starts_with(token)) return false;
    position_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) error(fmt::format("expected '{}'", token));
  }
  const Operator* peek_operator(int min_precedence) {
    skip_blanks();
    for (const auto& candidate : kOperators) {
      if (text_.substr(position_).starts_with(candidate.text)) {
        return candidate.precedence >= min_precedence ? &candidate : nullptr;
      }
    }
    return nullptr;
  }
  static NodePtr make(Kind kind, NodePtr left, NodePtr right = nullptr) {
    return std::make_shared<Expression::Node>(Expression::Node{kind, {}, {}, std::move(left), std::move(right)});
  }

  NodePtr binary(int min_precedence) {
    auto left = unary();
    while (const auto* found = peek_operator(min_precedence)) {
      position_ += found->text.size();
      left = make(found->kind, std::move(left), binary(found->precedence + 1));
    }
    return left;
  }

  NodePtr unary() {
    if (++nesting_ > kMaxNesting) error("nested too deep");
    NodePtr node;
    skip_blanks();
    if (take("-")) {
      // The sign is read here, so that the smallest 64-bit integer can be written.
      node = position_ < text_.size() && is_digit(text_[position_]) ? number(true) : make(Kind::negate, unary());
    } else if (take("!")) {
      node = make(Kind::logical_not, unary());
    } else {
      node = primary();
    }
    --nesting_;
    return node;
  }

  NodePtr primary() {
    if (take("(")) {
      auto inner = binary(1);
      expect(")");
      return inner;
    }
    if (position_ < text_.size()) {
      if (is_digit(text_[position_])) return number(false);
      if (text_[position_] == '\'') return quoted();
      if (is_name_start(text_[position_])) return name_or_call();
    }
    error("expected a number, a name, a 'text' or '('");
  }

  NodePtr number(bool negative) {
    const size_t begin = position_;
    while (position_ < text_.size() && (is_digit(text_[position_]) || text_[position_] == '.')) ++position_;
    std::string digits(negative ? 1 : 0, '-');
    digits += text_.substr(begin, position_ - begin);
    std::optional<Value> value = parse_int(digits);
    if (!value && number_of(digits)) value = digits;
    if (!value || (position_ < text_.size() && is_name_start(text_[position_]))) {
      position_ = begin;
      error("expected a 64-bit integer or a decimal");
    }
    return std::make_shared<Expression::Node>(Expression::Node{Kind::constant, *value, {}, nullptr, nullptr});
  }

  NodePtr quoted() {
    const size_t end = text_.find('\'', position_ + 1);
    if (end == std::string_view::npos) error("expected a closing quote for the text");
    std::string value(text_.substr(position_ + 1, end - position_ - 1));
    position_ = end + 1;
    return std::make_shared<Expression::Node>(Expression::Node{Kind::constant, std::move(value), {}, nullptr, nullptr});
  }

  NodePtr name_or_call() {
    const size_t begin = position_;
    while (position_ < text_.size() &&
           (is_name_start(text_[position_]) || is_digit(text_[position_]) || text_[position_] == '.')) {
      ++position_;
    }
    const auto name = text_.substr(begin, position_ - begin);
    if (!take("(")) {
      return std::make_shared<Expression::Node>(
          Expression::Node{Kind::variable, {}, std::string(name), nullptr, nullptr});
    }
    Kind kind = Kind::minimum;
    if (name == "max") {
      kind = Kind::maximum;
    } else if (name == "ceil_div") {
      kind = Kind::ceil_div;
    } else if (name != "min") {
      position_ = begin;
      error("expected one of the functions min, max, ceil_div");
    }
    auto left = binary(1);
    expect(",");
    auto right = binary(1);
    expect(")");
    return make(kind, std::move(left), std::move(right));
  }

  std::string_view text_;
  size_t position_ = 0;
  int nesting_ = 0;
};

int64_t integer_of(const Value& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return *number;
  const auto& text = std::get<std::string>(value);
  if (number_of(value)) fail(ErrorCode::invalid_input, "decimals only compare, got '{}' in place of an integer", text);
  fail(ErrorCode::invalid_input, "texts only compare with == and !=, write a number in place of '{}'", text);
}

bool is_integer(const Value& value) { return std::holds_alternative<int64_t>(value); }

/// Whether two numbers are compared of which at least one is a decimal.
bool are_decimals(const Value& a, const Value& b) {
  return (!is_integer(a) || !is_integer(b)) && number_of(a) && number_of(b);
}

bool are_equal(const Value& a, const Value& b) { return are_decimals(a, b) ? *number_of(a) == *number_of(b) : a == b; }

/// The operators that decimals have; empty for others.
std::optional<Value> compare_decimals(Kind kind, const Value& left, const Value& right) {
  const double a = *number_of(left);
  const double b = *number_of(right);
  switch (kind) {
    case Kind::less:
      return int64_t{a < b};
    case Kind::less_equal:
      return int64_t{a <= b};
    case Kind::greater:
      return int64_t{a > b};
    case Kind::greater_equal:
      return int64_t{a >= b};
    case Kind::minimum:
      return b < a ? right : left;
    case Kind::maximum:
      return a < b ? right : left;
    default:
      return std::nullopt;
  }
}

[[noreturn]] void overflow(std::string_view operation, int64_t a, int64_t b) {
  fail(ErrorCode::invalid_input, "an expression must stay within 64 bits, got {} {} {}", a, operation, b);
}

int64_t quotient(Kind kind, int64_t a, int64_t b) {
  if (b == 0) fail(ErrorCode::invalid_input, "an expression must not divide by zero, got {} / 0", a);
  if (b == -1 && a == std::numeric_limits<int64_t>::min()) overflow("/", a, b);
  if (kind == Kind::modulo) return a % b;
  return a / b + (kind == Kind::ceil_div && a % b != 0 && (a < 0) == (b < 0) ? 1 : 0);
}

int64_t arithmetic(Kind kind, int64_t a, int64_t b) {
  int64_t result = 0;
  switch (kind) {
    case Kind::add:
      if (__builtin_add_overflow(a, b, &result)) overflow("+", a, b);
      return result;
    case Kind::subtract:
      if (__builtin_sub_overflow(a, b, &result)) overflow("-", a, b);
      return result;
    case Kind::multiply:
      if (__builtin_mul_overflow(a, b, &result)) overflow("*", a, b);
      return result;
    case Kind::less:
      return a < b;
    case Kind::less_equal:
      return a <= b;
    case Kind::greater:
      return a > b;
    case Kind::greater_equal:
      return a >= b;
    case Kind::minimum:
      return std::min(a, b);
    case Kind::maximum:
      return std::max(a, b);
    default:
      return quotient(kind, a, b);
  }
}

/// Empty when a name has no value; `missing` then holds the name.
std::optional<Value> evaluate_node(const Expression::Node& node, const Expression::Lookup& lookup,
                                   std::string_view& missing) {
  if (node.kind == Kind::constant) return node.constant;
  if (node.kind == Kind::variable) {
    auto value = lookup(node.name);
    if (!value) missing = node.name;
    return value;
  }
  const auto left = evaluate_node(*node.left, lookup, missing);
  if (!left) return std::nullopt;
  if (node.kind == Kind::negate) return arithmetic(Kind::subtract, 0, integer_of(*left));
  if (node.kind == Kind::logical_not) return int64_t{integer_of(*left) == 0};
  // && and || do not evaluate their right side when the left one decides: `b == 0 || a % b == 0`.
  if (node.kind == Kind::logical_and && integer_of(*left) == 0) return int64_t{0};
  if (node.kind == Kind::logical_or && integer_of(*left) != 0) return int64_t{1};
  const auto right = evaluate_node(*node.right, lookup, missing);
  if (!right) return std::nullopt;
  if (node.kind == Kind::equal) return int64_t{are_equal(*left, *right)};
  if (node.kind == Kind::not_equal) return int64_t{!are_equal(*left, *right)};
  if (are_decimals(*left, *right)) {
    if (auto result = compare_decimals(node.kind, *left, *right)) return result;
  }
  if (node.kind == Kind::logical_and || node.kind == Kind::logical_or) return int64_t{integer_of(*right) != 0};
  const int64_t a = integer_of(*left);
  return arithmetic(node.kind, a, integer_of(*right));
}

void collect_names(const Expression::Node& node, std::vector<std::string>& names) {
  if (node.kind == Kind::variable && std::find(names.begin(), names.end(), node.name) == names.end()) {
    names.push_back(node.name);
  }
  if (node.left) collect_names(*node.left, names);
  if (node.right) collect_names(*node.right, names);
}

}  // namespace

Expression Expression::parse(std::string_view text) {
  Expression expression;
  expression.root_ = Parser(text).parse();
  return expression;
}

std::optional<Value> Expression::evaluate_if_known(const Lookup& lookup) const {
  ATTUNE_CHECK(root_ != nullptr, "an expression is parsed before it is evaluated");
  std::string_view missing;
  return evaluate_node(*root_, lookup, missing);
}

Value Expression::evaluate(const Lookup& lookup) const {
  ATTUNE_CHECK(root_ != nullptr, "an expression is parsed before it is evaluated");
  std::string_view missing;
  if (auto value = evaluate_node(*root_, lookup, missing)) return *std::move(value);
  fail(ErrorCode::invalid_input, "an expression reads only parameters, problem.<attribute> and device.<fact>, got '{}'",
       missing);
}

bool Expression::is_true(const Value& value) {
  if (const auto number = number_of(value)) return *number != 0;
  fail(ErrorCode::invalid_input, "a rule gives a number, got '{}'", std::get<std::string>(value));
}

bool Expression::truth(const Lookup& lookup) const { return is_true(evaluate(lookup)); }

std::vector<std::string> Expression::names() const {
  std::vector<std::string> names;
  if (root_) collect_names(*root_, names);
  return names;
}

}  // namespace attune
