// SPDX-License-Identifier: MIT
#include "formats/find_db/find_db_diff.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <tuple>
#include <unordered_map>

#include "base/text.h"

namespace attune {
namespace {

double usable_time(const FindDbEntry& entry) {
  const auto time = parse_double(entry.time_ms);
  return time && *time > 0 ? *time : std::numeric_limits<double>::infinity();
}

const FindDbEntry* best_of(const FindDbRecord& record) {
  const auto best = std::ranges::min_element(
      record.entries, {}, [](const FindDbEntry& entry) { return std::tuple(usable_time(entry), entry.solver); });
  return best == record.entries.end() ? nullptr : &*best;
}

bool have_same_entries(const FindDbRecord& one, const FindDbRecord& other) {
  return one.entries.size() == other.entries.size() &&
         std::ranges::is_permutation(one.entries, other.entries, [](const FindDbEntry& a, const FindDbEntry& b) {
           return a.solver == b.solver && a.time_ms == b.time_ms && a.workspace_bytes == b.workspace_bytes &&
                  a.algorithm == b.algorithm;
         });
}

FindDbChange change_of(const FindDbRecord* before, const FindDbRecord* after) {
  FindDbChange change{.before = before,
                      .after = after,
                      .old_best = before != nullptr ? best_of(*before) : nullptr,
                      .new_best = after != nullptr ? best_of(*after) : nullptr,
                      .ratio = {}};
  if (change.old_best == nullptr || change.new_best == nullptr) return change;
  const double old_ms = usable_time(*change.old_best), new_ms = usable_time(*change.new_best);
  if (old_ms < std::numeric_limits<double>::infinity() && new_ms < std::numeric_limits<double>::infinity())
    change.ratio = old_ms / new_ms;
  return change;
}

}  // namespace

FindDbDiff diff(const FindDb& before, const FindDb& after) {
  std::unordered_map<std::string_view, std::deque<const FindDbRecord*>> old_records;
  old_records.reserve(before.records().size());
  for (const FindDbRecord& record : before.records()) old_records[record.key].push_back(&record);
  FindDbDiff found;
  for (const FindDbRecord& record : after.records()) {
    const auto old = old_records.find(record.key);
    if (old == old_records.end() || old->second.empty()) {
      found.added.push_back(change_of(nullptr, &record));
      continue;
    }
    const FindDbRecord* paired = old->second.front();
    old->second.pop_front();
    if (have_same_entries(*paired, record))
      ++found.num_same;
    else
      found.changed.push_back(change_of(paired, &record));
  }
  // In the order of the old file.
  for (const FindDbRecord& record : before.records()) {
    const auto& rest = old_records[record.key];
    if (std::ranges::find(rest, &record) != rest.end()) found.removed.push_back(change_of(&record, nullptr));
  }
  return found;
}

}  // namespace attune
