// SPDX-License-Identifier: MIT
#include "report/diff/changed_words.h"

namespace attune {
namespace {

constexpr std::string_view kSeparators = " ,;:=";

/// Words and separators in turn: the even places are words, which may be empty.
std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  size_t begin = 0;
  for (size_t end = 0; end <= text.size(); ++end) {
    if (end < text.size() && kSeparators.find(text[end]) == std::string_view::npos) continue;
    words.push_back(text.substr(begin, end - begin));
    if (end < text.size()) words.push_back(text.substr(end, 1));
    begin = end + 1;
  }
  return words;
}

}  // namespace

std::vector<ChangedWord> compare_words(std::string_view before, std::string_view after) {
  const auto old_words = words_of(before), new_words = words_of(after);
  if (old_words.size() != new_words.size()) return {{before, after}};
  std::vector<ChangedWord> parts;
  for (size_t i = 0; i < new_words.size(); ++i) parts.push_back({old_words[i], new_words[i]});
  return parts;
}

}  // namespace attune
