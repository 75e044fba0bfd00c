// SPDX-License-Identifier: MIT
#include "core/config.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"

namespace attune {
namespace {

struct Escape {
  char character;
  std::string_view text;
};
constexpr std::array<Escape, 3> kEscapes = {{{'%', "%25"}, {',', "%2C"}, {' ', "%20"}}};

bool is_escaped(char c) {
  return std::any_of(kEscapes.begin(), kEscapes.end(), [&](const Escape& one) { return one.character == c; });
}

std::string with_escapes(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto* escape =
        std::find_if(kEscapes.begin(), kEscapes.end(), [&](const Escape& one) { return one.character == c; });
    if (escape == kEscapes.end())
      result += c;
    else
      result += escape->text;
  }
  return result;
}

/// Throws invalid_input for another percent sign, which no key contains.
std::string without_escapes(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    const auto* escape = std::find_if(kEscapes.begin(), kEscapes.end(),
                                      [&](const Escape& one) { return text.substr(i).starts_with(one.text); });
    if (escape == kEscapes.end())
      fail(ErrorCode::invalid_input, "a percent sign in a config must begin %25, %2C or %20, got '{}'", text);
    result += escape->character;
    i += escape->text.size() - 1;
  }
  return result;
}

/// Whether the text survives Config::parse: no separators outside [ ], nested brackets.
bool is_safe(std::string_view text) {
  int depth = 0;
  for (const char c : text) {
    if (c < ' ' || c >= 127 || c == '"') return false;
    if (c == '[') ++depth;
    if (c == ']' && --depth < 0) return false;
    if (depth == 0 && (c == ';' || c == '=')) return false;
  }
  return depth == 0 && !text.empty();
}

/// Splits at `;` outside brackets.
std::vector<std::string_view> split_outside_brackets(std::string_view text) {
  std::vector<std::string_view> pieces;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']') --depth;
    if (text[i] == ';' && depth == 0) {
      pieces.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  pieces.push_back(text.substr(begin));
  return pieces;
}

}  // namespace

std::string to_text(const Value& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) return std::to_string(*number);
  return std::get<std::string>(value);
}

Value parse_value(std::string_view text) {
  if (const auto number = parse_int(text); number && std::to_string(*number) == text) return *number;
  return std::string(text);
}

std::optional<double> number_of(const Value& value) noexcept {
  if (const auto* number = std::get_if<int64_t>(&value)) return static_cast<double>(*number);
  constexpr size_t kMaxLength = 32;
  const std::string_view text = *std::get_if<std::string>(&value);
  const std::string_view digits = text.starts_with('-') ? text.substr(1) : text;
  const size_t point = digits.find('.');
  const bool is_decimal = text.size() <= kMaxLength && point != std::string_view::npos && point > 0 &&
                          point + 1 < digits.size() && digits.find_first_not_of("0123456789.") == digits.npos &&
                          digits.find('.', point + 1) == digits.npos;
  return is_decimal ? parse_double(text) : std::nullopt;
}

Config::Config(std::vector<std::pair<std::string, Value>> values) : values_(std::move(values)) {
  std::sort(values_.begin(), values_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 0; i < values_.size(); ++i) {
    const auto& name = values_[i].first;
    const auto text = to_text(values_[i].second);
    if (!is_safe(name) || std::any_of(name.begin(), name.end(), is_escaped) || !is_safe(text)) {
      fail(ErrorCode::invalid_input, "expected a parameter as name=value without semicolons and quotes, got '{}={}'",
           name, text);
    }
    if (i > 0 && values_[i].first == values_[i - 1].first) {
      fail(ErrorCode::invalid_input, "parameter given twice in a config: '{}'", values_[i].first);
    }
    key_ += (i ? ";" : "") + name + "=" + with_escapes(text);
  }
}

Config Config::parse(std::string_view key) {
  std::vector<std::pair<std::string, Value>> values;
  if (key.empty()) return Config();
  // A key is one word: what it could contain only escaped is no key.
  if (key.find_first_of(", ") != std::string_view::npos)
    fail(ErrorCode::invalid_input, "a blank is %20 and a comma %2C in a config, got '{}'", key);
  for (const auto piece : split_outside_brackets(key)) {
    const auto equals = piece.find('=');
    if (equals == std::string_view::npos || equals == 0) {
      fail(ErrorCode::invalid_input, "expected a config as name=value;name=value, got '{}'", key);
    }
    values.emplace_back(std::string(piece.substr(0, equals)), parse_value(without_escapes(piece.substr(equals + 1))));
  }
  return Config(std::move(values));
}

bool Config::has(std::string_view name) const noexcept {
  return std::any_of(values_.begin(), values_.end(), [&](const auto& entry) { return entry.first == name; });
}

const Value& Config::at(std::string_view name) const {
  for (const auto& [key, value] : values_) {
    if (key == name) return value;
  }
  fail(ErrorCode::not_found, "the config '{}' has no parameter '{}'", key_, name);
}

int64_t Config::integer(std::string_view name) const {
  if (const auto* number = std::get_if<int64_t>(&at(name))) return *number;
  fail(ErrorCode::invalid_input, "parameter '{}' expects a whole number, got '{}'", name, to_text(at(name)));
}

const std::string& Config::text(std::string_view name) const {
  if (const auto* text = std::get_if<std::string>(&at(name))) return *text;
  fail(ErrorCode::invalid_input, "parameter '{}' expects a text, got '{}'", name, to_text(at(name)));
}

}  // namespace attune
