// SPDX-License-Identifier: MIT
#pragma once
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attune {

/// Makes a text from anywhere the text of a document: UTF-8 that XML allows. Other bytes, control characters and
/// characters that turn the direction of the text are written as escapes (`\x1b`). A text longer than `max_characters`
/// is cut and ends in `…`. Not yet escaped for a language of markup. Cost: grows with the kept part, not with the
/// length.
std::string plain_text(std::string_view text, size_t max_characters);

/// Writes XML, and HTML that is well-formed XML but for its doctype. Every text and every value of an attribute is made
/// plain and escaped here and nowhere else; names of elements and attributes are the program's own. No library fits:
/// Debian has no inja (templates), ctemplate escapes only where a template asks for it, and pugixml writes no HTML and
/// would be a dependency of every build.
class Markup {
 public:
  using Attributes = std::initializer_list<std::pair<std::string_view, std::string_view>>;
  /// Longest text: longer ones are cut.
  static constexpr size_t kMaxCharacters = 2000;

  /// Begins an element; its end is written by close().
  Markup& open(const char* element, Attributes attributes = {});
  Markup& close();
  Markup& text(std::string_view text, size_t max_characters = kMaxCharacters);
  /// An element with a text alone.
  Markup& element(const char* element, Attributes attributes, std::string_view text);
  /// An element without content.
  Markup& empty(const char* element, Attributes attributes);
  Markup& line_end();
  /// Text of the program itself, such as a style sheet. Takes literals alone, so that no text from elsewhere gets here.
  template <size_t N>
  Markup& literal(const char (&text)[N]) {
    content_.append(text, N - 1);
    return *this;
  }

  /// Requires: every element is closed.
  std::string take();

 private:
  void begin(const char* element, Attributes attributes);

  std::string content_;
  std::vector<const char*> open_;
};

}  // namespace attune
