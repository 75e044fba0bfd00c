// SPDX-License-Identifier: MIT
#include "fleet/setup/issue_text.h"

#include <algorithm>

#include "base/text.h"

namespace attune {
namespace {

constexpr size_t kMinFence = 3;

/// Quote marks and blanks in front of a line of a quote or a list.
constexpr std::string_view kIndent = " \t>";

/// Length of the fence that begins a line; 0 for other lines.
size_t fence_length(std::string_view line) {
  const char mark = line.empty() ? '\0' : line.front();
  if (mark != '`' && mark != '~') return 0;
  const size_t length = std::min(line.find_first_not_of(mark), line.size());
  // ```text``` in one line is code within a sentence.
  if (mark == '`' && line.find('`', length) != std::string_view::npos) return 0;
  return length >= kMinFence ? length : 0;
}

}  // namespace

std::vector<FencedBlock> fenced_blocks(std::string_view text) {
  std::vector<FencedBlock> blocks;
  std::string_view fence, indent;  // Of the open block; empty: none is open.
  FencedBlock block;
  const auto end_block = [&] {
    if (!trim(block.text).empty()) blocks.push_back(std::move(block));
    block = {};
    fence = {};
  };
  size_t number = 0;
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (std::string_view line : split(text, '\n')) {
    ++number;
    const size_t begin = std::min(line.find_first_not_of(kIndent), line.size());
    const std::string_view content = trim(line.substr(begin));
    const size_t length = fence_length(content);
    if (fence.empty()) {
      if (length == 0) continue;
      fence = content.substr(0, length);
      indent = line.substr(0, begin);
      block.first_line = number + 1;
    } else if (length == content.size() && length >= fence.size() && content.front() == fence.front()) {
      end_block();
    } else {
      line.remove_prefix(std::min(indent.size(), begin));
      block.text.append(line).append("\n");
    }
  }
  if (!fence.empty()) end_block();
  return blocks;
}

}  // namespace attune
