// SPDX-License-Identifier: MIT
#include "pipeline/run/journal_extract.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>
#include <vector>

#include "report/entry_line.h"

namespace attune {
namespace {

/// Numbers of the runs that the writers began, ascending.
std::vector<int64_t> runs_of(const Journal& journal, int64_t after, std::span<const JournalWriter> writers) {
  const Query query{
      .after = after, .started = false, .records = false, .decisions = false, .pardons = false, .runs = true};
  std::vector<int64_t> runs;
  journal.scan(query, [&](const Entry& entry, const Stamp& stamp) {
    const auto* begin = std::get_if<RunBegin>(&entry);
    if (begin == nullptr) return;
    if (std::ranges::find(writers, JournalWriter{begin->host, begin->pid}) != writers.end()) runs.push_back(stamp.id);
  });
  return runs;
}

}  // namespace

std::string journal_extract(const Journal& journal, int64_t after, std::span<const JournalWriter> writers,
                            size_t max_entries) {
  std::string text;
  size_t num_all = 0, num_written = 0;
  for (const int64_t run : runs_of(journal, after, writers)) {
    Query query{.run = run, .after = after, .runs = true};
    const EntryCounts all = journal.count(query);
    num_all += static_cast<size_t>(all.started + all.records + all.decisions + all.pardons + all.runs);
    if (num_written >= max_entries) continue;
    query.limit = max_entries - num_written;
    journal.scan(query, [&](const Entry& entry, const Stamp& stamp) {
      text += entry_line_json(entry, stamp) + "\n";
      ++num_written;
    });
  }
  if (num_all > max_entries) text += fmt::format("{{\"left_out\":{}}}\n", num_all - max_entries);
  return text;
}

}  // namespace attune
