// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "store/journal.h"

namespace attune {

/// A process that wrote into a journal, as RunBegin names it.
struct JournalWriter {
  std::string host;
  int64_t pid = 0;
  bool operator==(const JournalWriter&) const = default;
};

/// The entries after `after` that the writers' runs made, as `attune journal follow --json` prints them, at most
/// `max_entries`. If there are more, a last line counts the omitted ones. About 80 µs an entry. Damaged entries are
/// omitted.
std::string journal_extract(const Journal& journal, int64_t after, std::span<const JournalWriter> writers,
                            size_t max_entries);

}  // namespace attune
