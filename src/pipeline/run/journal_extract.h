// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string>

#include "store/journal.h"

namespace attune {

/// The entries behind `after`, those of other runs at that time included, as `attune journal follow --json` prints
/// them, at most `max_entries`; if there are more, a last line says how many are left out. About 80 µs an entry.
/// Damaged entries are left out.
std::string journal_extract(const Journal& journal, int64_t after, size_t max_entries);

}  // namespace attune
