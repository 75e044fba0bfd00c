// SPDX-License-Identifier: MIT
#include "base/line_output.h"

#include "base/text.h"

namespace attune {

void print_line(std::FILE* to, std::string_view line) {
  constexpr size_t kMaxCharacters = 2000;
  std::fprintf(to, "%s\n", shown(line, kMaxCharacters).c_str());
}

void print_notes(std::span<const std::string> notes) {
  for (const std::string& note : notes) print_line(stderr, "note: " + note);
}

}  // namespace attune
