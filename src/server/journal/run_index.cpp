// SPDX-License-Identifier: MIT
#include "server/journal/run_index.h"

#include "base/text.h"

namespace attune {

void RunIndex::count(const EntryHeading& heading) {
  if (heading.stamp.run == 0) return;
  RunRow& row = runs_[heading.stamp.run];
  row.run = heading.stamp.run;
  if (heading.kind == EntryKind::decision) ++row.num_decisions;
  if (heading.kind == EntryKind::record) ++row.num_records;
}

void RunIndex::add(const Entry& entry, const Stamp& stamp) {
  RunRow& row = runs_[stamp.run];
  row.run = stamp.run;
  if (const auto* begin = std::get_if<RunBegin>(&entry)) {
    row.begin_ms = stamp.at_ms;
    row.command = join(begin->command, " ");
    row.version = begin->version;
    row.host = begin->host;
    row.device = begin->device;
    row.fingerprint = begin->fingerprint;
    row.description = begin->description;
  } else if (const auto* end = std::get_if<RunEnd>(&entry)) {
    row.end_ms = stamp.at_ms;
    row.state = end->ending;
    row.exit_status = end->exit_status;
  }
}

std::vector<RunRow> RunIndex::newest(int64_t before, size_t limit) const {
  std::vector<RunRow> rows;
  auto run = before == 0 ? runs_.end() : runs_.lower_bound(before);
  while (run != runs_.begin() && rows.size() < limit) rows.push_back((--run)->second);
  return rows;
}

const RunRow* RunIndex::find(int64_t run) const {
  const auto found = runs_.find(run);
  return found == runs_.end() ? nullptr : &found->second;
}

}  // namespace attune
