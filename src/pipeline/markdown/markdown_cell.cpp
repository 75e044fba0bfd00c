// SPDX-License-Identifier: MIT
#include "pipeline/markdown/markdown_cell.h"

#include "base/text.h"

namespace attune {

std::string markdown_cell(std::string_view text) {
  std::string safe;
  for (const char one : shown(text, 500)) {
    if (one == '<')
      safe += "&lt;";
    else if (one == '&')
      safe += "&amp;";
    else if (std::string_view("|`*[]~\\").find(one) != std::string_view::npos)
      safe += std::string("\\") + one;
    else
      safe += one;
  }
  return safe;
}

}  // namespace attune
