// SPDX-License-Identifier: MIT
#include "attune/problem.h"

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"

namespace attune {
namespace {

constexpr size_t kMaxKeyBytes = 4096;

bool is_word(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool is_value(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](char c) { return c > ' ' && c < 127 && c != '=' && c != ',' && c != '"'; });
}

const std::string* find(const std::vector<std::pair<std::string, std::string>>& attributes, std::string_view name) {
  for (const auto& [key, value] : attributes) {
    if (key == name) return &value;
  }
  return nullptr;
}

}  // namespace

Problem::Problem(std::string op, std::vector<std::pair<std::string, std::string>> attributes)
    : op_(std::move(op)), attributes_(std::move(attributes)) {
  if (!is_word(op_))
    fail(ErrorCode::invalid_input, "a problem starts with the name of an op, as in 'gemm_a16w16 m=1 n=2 k=3', got '{}'",
         op_);
  key_ = op_;
  for (const auto& [name, value] : attributes_) {
    if (!is_word(name) || !is_value(value)) {
      fail(ErrorCode::invalid_input, "expected an attribute of a problem as name=value without blanks, got '{}={}'",
           name, value);
    }
    key_ += ' ' + name + '=' + value;
  }
  if (key_.size() > kMaxKeyBytes)
    fail(ErrorCode::invalid_input, "a problem has at most {} characters, got {}", kMaxKeyBytes, key_.size());
}

Problem Problem::parse(std::string_view text) {
  if (text.size() > kMaxKeyBytes)
    fail(ErrorCode::invalid_input, "a problem has at most {} characters, got {}", kMaxKeyBytes, text.size());
  std::string op;
  std::vector<std::pair<std::string, std::string>> attributes;
  for (const auto word : split(text, ' ')) {
    const auto piece = trim(word);
    if (piece.empty()) continue;
    if (op.empty()) {
      op = piece;
      continue;
    }
    const auto equals = piece.find('=');
    if (equals == std::string_view::npos) {
      fail(ErrorCode::invalid_input, "expected an attribute of a problem as name=value, got '{}'", piece);
    }
    std::string name(piece.substr(0, equals));
    if (find(attributes, name)) fail(ErrorCode::invalid_input, "attribute given twice in a problem: '{}'", name);
    attributes.emplace_back(std::move(name), std::string(piece.substr(equals + 1)));
  }
  return Problem(std::move(op), std::move(attributes));
}

bool Problem::has(std::string_view name) const noexcept { return find(attributes_, name) != nullptr; }

const std::string& Problem::text(std::string_view name) const {
  if (const auto* value = find(attributes_, name)) return *value;
  fail(ErrorCode::invalid_input, "the problem '{}' lacks the attribute '{}'", key_, name);
}

int64_t Problem::integer(std::string_view name) const {
  const auto& value = text(name);
  if (const auto number = parse_int(value)) return *number;
  fail(ErrorCode::invalid_input, "attribute '{}' expects a whole number, got '{}'", name, value);
}

int64_t Problem::integer_or(std::string_view name, int64_t default_value) const {
  return has(name) ? integer(name) : default_value;
}

DType Problem::dtype(std::string_view name) const {
  const auto& value = text(name);
  if (const auto dtype = parse_dtype(value)) return *dtype;
  fail(ErrorCode::invalid_input, "attribute '{}' expects a data type such as bf16, got '{}'", name, value);
}

Problem Problem::with(std::string_view name, std::string value) const {
  auto attributes = attributes_;
  for (auto& [key, old] : attributes) {
    if (key == name) {
      old = std::move(value);
      return Problem(op_, std::move(attributes));
    }
  }
  attributes.emplace_back(std::string(name), std::move(value));
  return Problem(op_, std::move(attributes));
}

ProblemKey ProblemKey::of(uint16_t op, std::span<const int64_t> values) noexcept {
  int64_t packed[32];
  const size_t count = std::min<size_t>(values.size(), 31);
  packed[0] = op;
  std::copy_n(values.begin(), count, packed + 1);
  const Hash128 digest = hash128(std::as_bytes(std::span(packed, count + 1)));
  return {digest.high, digest.low};
}

}  // namespace attune
