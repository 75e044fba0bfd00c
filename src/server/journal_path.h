// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <string_view>

namespace attune {

/// Which of the server's journals a path is about, and what of it.
struct JournalPath {
  size_t number = 1;      ///< From 1; 0: it names none.
  std::string_view path;  ///< As it is for a server of this journal alone: `/pages/results`.
};

/// `/journals/2/pages/results` is of journal 2, a path without such a beginning of the first one.
JournalPath parse_journal_path(std::string_view path) noexcept;

}  // namespace attune
