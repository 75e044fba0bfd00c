// SPDX-License-Identifier: MIT
#include "cli/miopen/miopen_diff.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/line_output.h"
#include "base/text.h"
#include "formats/find_db/find_db_diff.h"
#include "report/json_output.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

std::string entry_text(const FindDbEntry* entry) {
  return entry == nullptr ? "no entry" : fmt::format("{} {} ms", entry->solver, entry->time_ms);
}

void print_change(char sign, const FindDbChange& change) {
  std::string line = fmt::format("{} {}  ", sign, change.key());
  if (change.before == nullptr || change.after == nullptr)
    line += entry_text(change.after != nullptr ? change.new_best : change.old_best);
  else
    line += fmt::format("{} → {}", entry_text(change.old_best), entry_text(change.new_best));
  if (change.ratio) line += fmt::format(", {:.3f}×", *change.ratio);
  print_line(stdout, line);
}

ordered_json entry_json(const FindDbRecord& record, const FindDbEntry* best) {
  ordered_json object = {{"line", record.line}, {"entries", record.entries.size()}};
  if (best != nullptr) object.update({{"solver", best->solver}, {"ms", best->time_ms}});
  return object;
}

ordered_json find_db_change_json(const FindDbChange& change) {
  ordered_json object = {{"key", change.key()}};
  if (change.before != nullptr) object["before"] = entry_json(*change.before, change.old_best);
  if (change.after != nullptr) object["after"] = entry_json(*change.after, change.new_best);
  if (change.ratio) object["ratio"] = *change.ratio;
  return object;
}

FindDb read_find_db_side(const std::string& file) {
  if (!is_find_db(file))
    fail(ErrorCode::invalid_input, "a find-db is compared with a find-db, this file is none: '{}'", shown(file, 500));
  return FindDb::read_with_defects(file);
}

}  // namespace

int run_find_db_diff(const std::string& before, const std::string& after, bool json) {
  const FindDb old_db = read_find_db_side(before), new_db = read_find_db_side(after);
  const FindDbDiff found = diff(old_db, new_db);
  if (json) {
    JsonPrinter printer;
    for (const auto& [name, changes] : {std::pair("added", &found.added), std::pair("removed", &found.removed),
                                        std::pair("changed", &found.changed)}) {
      printer.begin_list(name);
      for (const FindDbChange& change : *changes) printer.item(find_db_change_json(change));
      printer.end_list();
    }
    printer.member("same", found.num_same);
    printer.end();
    return 0;
  }
  for (const FindDbChange& change : found.removed) print_change('-', change);
  for (const FindDbChange& change : found.added) print_change('+', change);
  for (const FindDbChange& change : found.changed) print_change('~', change);
  print_line(stdout, fmt::format("{} added, {} removed, {} changed, {} the same", found.added.size(),
                                 found.removed.size(), found.changed.size(), found.num_same));
  return 0;
}

}  // namespace attune
