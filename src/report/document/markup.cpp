// SPDX-License-Identifier: MIT
#include "report/document/markup.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace attune {
namespace {

/// Whether a character of three bytes is forbidden. It may turn the direction of the text that follows, so that a name
/// could show as another. Or it is U+FFFE or U+FFFF, which XML forbids.
bool is_forbidden(std::string_view character) {
  if (character.size() != 3) return false;
  const std::string_view lead = character.substr(0, 2);
  const auto last = static_cast<unsigned char>(character[2]);
  return (lead == "\xe2\x80" && last >= 0xaa && last <= 0xae) || (lead == "\xe2\x81" && last >= 0xa6 && last <= 0xa9) ||
         (lead == "\xef\xbf" && last >= 0xbe);
}

std::string without_forbidden(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, std::max<size_t>(1, utf8_length(text)));
    if (is_forbidden(piece))
      for (const char c : piece) result += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      result += piece;
    text.remove_prefix(piece.size());
  }
  return result;
}

void append_escaped(std::string& content, std::string_view text) {
  for (const char one : text) {
    switch (one) {
      case '&':
        content += "&amp;";
        break;
      case '<':
        content += "&lt;";
        break;
      case '>':
        content += "&gt;";
        break;
      case '"':
        content += "&quot;";
        break;
      case '\'':
        content += "&#39;";
        break;
      default:
        content += one;
    }
  }
}

}  // namespace

std::string plain_text(std::string_view text, size_t max_characters) {
  const std::string safe = shown(text, max_characters);
  // Both beginnings are rare, and most texts have neither.
  return safe.find('\xe2') == std::string::npos && safe.find('\xef') == std::string::npos ? safe
                                                                                          : without_forbidden(safe);
}

void Markup::begin(const char* element, Attributes attributes) {
  content_ += '<';
  content_ += element;
  for (const auto& [name, value] : attributes) {
    content_ += ' ';
    content_ += name;
    content_ += "=\"";
    append_escaped(content_, plain_text(value, kMaxCharacters));
    content_ += '"';
  }
}

Markup& Markup::open(const char* element, Attributes attributes) {
  begin(element, attributes);
  content_ += '>';
  open_.push_back(element);
  return *this;
}

Markup& Markup::close() {
  ATTUNE_CHECK(!open_.empty(), "an element is closed that was not begun");
  content_ += "</";
  content_ += open_.back();
  content_ += '>';
  open_.pop_back();
  return *this;
}

Markup& Markup::text(std::string_view text, size_t max_characters) {
  append_escaped(content_, plain_text(text, max_characters));
  return *this;
}

Markup& Markup::element(const char* element, Attributes attributes, std::string_view text) {
  return open(element, attributes).text(text).close();
}

Markup& Markup::empty(const char* element, Attributes attributes) {
  begin(element, attributes);
  content_ += "/>";
  return *this;
}

Markup& Markup::line_end() {
  content_ += '\n';
  return *this;
}

std::string Markup::take() {
  ATTUNE_CHECK(open_.empty(), "an element is not closed");
  return std::move(content_);
}

}  // namespace attune
