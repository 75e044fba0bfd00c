// SPDX-License-Identifier: MIT
#include "pipeline/run/journal_extract.h"

#include <fmt/format.h>

#include "report/entry_line.h"

namespace attune {

std::string journal_extract(const Journal& journal, int64_t after, size_t max_entries) {
  Query query{.after = after, .runs = true, .bans = true};
  const EntryCounts all = journal.count(query);
  const auto num_all = static_cast<size_t>(all.started + all.records + all.decisions + all.pardons + all.runs);
  query.limit = max_entries;
  std::string text;
  journal.scan(query, [&](const Entry& entry, const Stamp& stamp) { text += entry_line_json(entry, stamp) + "\n"; });
  if (num_all > max_entries) text += fmt::format("{{\"left_out\":{}}}\n", num_all - max_entries);
  return text;
}

}  // namespace attune
