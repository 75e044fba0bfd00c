// SPDX-License-Identifier: MIT
#include "pipeline/run/journal_extract.h"

#include <fmt/format.h>

#include "report/entry_line.h"

namespace attune {

std::string journal_extract(const Journal& journal, int64_t after, size_t max_entries) {
  Query query{.after = after, .limit = max_entries, .runs = true, .bans = true};
  std::string text;
  int64_t last = after;
  size_t num_read = 0;
  journal.scan(query, [&](const Entry& entry, const Stamp& stamp) {
    text += entry_line_json(entry, stamp) + "\n";
    last = stamp.id;
    ++num_read;
  });
  if (num_read < max_entries) return text;
  query.after = last;  // What is read is not counted again, and what was appended meanwhile is.
  query.limit = 0;
  size_t num_left_out = 0;
  journal.visit_headings(query, [&](const EntryHeading&) { ++num_left_out; });
  if (num_left_out > 0) text += fmt::format("{{\"left_out\":{}}}\n", num_left_out);
  return text;
}

}  // namespace attune
