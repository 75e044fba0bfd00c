// SPDX-License-Identifier: MIT
#include "report/document/markdown_cell.h"

#include <cctype>

#include "report/document/markup.h"

namespace attune {
namespace {

constexpr size_t kMaxMarkdownCell = 500;

bool is_of_word(char one) { return std::isalnum(static_cast<unsigned char>(one)) != 0; }

}  // namespace

std::string markdown_cell(std::string_view text) {
  const std::string plain = plain_text(text, kMaxMarkdownCell);
  std::string safe;
  for (size_t i = 0; i < plain.size(); ++i) {
    const char one = plain[i];
    const bool is_after_word = i > 0 && is_of_word(plain[i - 1]);
    const bool is_within_word = is_after_word && i + 1 < plain.size() && is_of_word(plain[i + 1]);
    if (one == '<')
      safe += "&lt;";
    else if (one == '&')
      safe += "&amp;";
    else if (std::string_view("|`*[]\\#!~").find(one) != std::string_view::npos || (one == '@' && !is_after_word) ||
             (one == '_' && !is_within_word))
      safe += std::string("\\") + one;
    else
      safe += one;
  }
  return safe;
}

}  // namespace attune
