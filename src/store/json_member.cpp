// SPDX-License-Identifier: MIT
#include "store/json_member.h"

namespace attune {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

/// Where the string that begins at `begin` ends, behind its quotation mark; npos for one without an end.
size_t end_of_string(std::string_view text, size_t begin) {
  for (size_t quote = begin;;) {
    quote = text.find('"', quote + 1);
    if (quote == std::string_view::npos) return quote;
    const size_t other = text.find_last_not_of('\\', quote - 1);  // At the latest the mark at `begin`.
    if ((quote - 1 - other) % 2 == 0) return quote + 1;
  }
}

/// Where the value that begins at `begin` ends: at the comma or bracket behind it; npos if the text ends first.
size_t end_of_value(std::string_view text, size_t begin) {
  size_t depth = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    switch (text[i]) {
      case '"':
        i = end_of_string(text, i);
        if (i == std::string_view::npos) return i;
        --i;
        break;
      case '{':
      case '[':
        ++depth;
        break;
      case '}':
      case ']':
        if (depth == 0) return i;
        --depth;
        break;
      case ',':
        if (depth == 0) return i;
        break;
      default:
        break;
    }
  }
  return std::string_view::npos;
}

}  // namespace

std::optional<std::string_view> json_member(std::string_view object, std::string_view name) {
  object = trimmed(object);
  if (!object.starts_with('{') || !object.ends_with('}')) return std::nullopt;
  std::optional<std::string_view> found;
  for (size_t place = 1;;) {
    const size_t begin = object.find_first_not_of(kBlanks, place);
    if (begin == std::string_view::npos || object[begin] != '"') return std::nullopt;
    const size_t end = end_of_string(object, begin);
    if (end == std::string_view::npos) return std::nullopt;
    const size_t colon = object.find_first_not_of(kBlanks, end);
    if (colon == std::string_view::npos || object[colon] != ':') return std::nullopt;
    const size_t value_end = end_of_value(object, colon + 1);
    if (value_end == std::string_view::npos || object[value_end] == ']') return std::nullopt;
    if (object.substr(begin + 1, end - begin - 2) == name)
      found = trimmed(object.substr(colon + 1, value_end - colon - 1));
    if (object[value_end] == '}') return value_end == object.size() - 1 ? found : std::nullopt;
    place = value_end + 1;
  }
}

}  // namespace attune
