// SPDX-License-Identifier: MIT
#pragma once
#include <string_view>
#include <vector>

namespace attune {

/// A part of two texts, before and after a change. Views into them.
struct ChangedWord {
  std::string_view before, after;
  bool is_same() const noexcept { return before == after; }
};

/// Two texts word by word, separators included, whose parts give both texts. Words end at blanks and at `, ; : =`;
/// texts with different numbers of words are one part.
std::vector<ChangedWord> compare_words(std::string_view before, std::string_view after);

}  // namespace attune
