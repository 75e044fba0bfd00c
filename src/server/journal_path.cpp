// SPDX-License-Identifier: MIT
#include "server/journal_path.h"

#include <algorithm>

#include "base/text.h"

namespace attune {

JournalPath parse_journal_path(std::string_view path) noexcept {
  constexpr std::string_view kBeginning = "/journals/";
  if (!path.starts_with(kBeginning)) return {.path = path};
  const std::string_view rest = path.substr(kBeginning.size());
  const size_t end = std::min(rest.find('/'), rest.size());
  const auto number = parse_int(rest.substr(0, end));
  return {.number = number && *number > 0 ? static_cast<size_t>(*number) : 0,
          .path = end == rest.size() ? "/" : rest.substr(end)};
}

}  // namespace attune
