// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attune {

/// The lines between two fences of a Markdown text.
struct FencedBlock {
  std::string text;
  size_t first_line = 0;  ///< Its number in the text, counted from 1.
};

/// The fenced blocks of a GitHub issue: lines of ``` or ~~~, also inside quotes and lists. The last may lack its
/// closing fence. Empty blocks are dropped.
std::vector<FencedBlock> fenced_blocks(std::string_view text);

}  // namespace attune
