// SPDX-License-Identifier: MIT
#include "formats/csv/table_diff.h"

#include <deque>
#include <map>

#include "base/error.h"
#include "formats/csv/key_cells.h"

namespace attune {
namespace {

std::string identity(const Table& table, const TableRow& row) {
  return fmt::format("{} {} {} {} {}", row.gfx, row.num_units, key_text(table.family(), row.problem), row.tag,
                     text(row.require));
}

RowChange change_of(const TableRow* before, const TableRow* after) {
  const TableRow& either = after ? *after : *before;
  RowChange change{either.problem, either.gfx, either.num_units, either.tag};
  if (before) {
    change.old_line = before->line;
    change.old_us = before->us;
  }
  if (after) {
    change.new_line = after->line;
    change.new_us = after->us;
  }
  if (change.old_us && change.new_us) change.ratio = *change.old_us / *change.new_us;
  return change;
}

bool is_key(const FamilySpec& family, const CsvDocument& document, size_t column) {
  for (const KeyColumn& key : family.key) {
    if (document.find_column(key.column) == column) return true;
  }
  return document.find_column("gfx") == column || document.find_column("cu_num") == column;
}

/// Cells outside the key that differ: first the columns of the new file, then those that only the old one has.
std::vector<ChangedCell> changed_cells(const Table& before, const TableRow& old_row, const Table& after,
                                       const TableRow& new_row) {
  std::vector<ChangedCell> cells;
  const CsvDocument& old_document = before.documents()[old_row.file];
  const CsvDocument& new_document = after.documents()[new_row.file];
  for (size_t i = 0; i < new_document.columns().size(); ++i) {
    if (is_key(after.family(), new_document, i)) continue;
    const std::string& column = new_document.columns()[i];
    const auto old_text = before.cell(old_row, column), new_text = new_document.cell(new_row.row, i);
    if (old_text != new_text) cells.push_back({column, std::string(old_text), std::string(new_text)});
  }
  for (size_t i = 0; i < old_document.columns().size(); ++i) {
    const std::string& column = old_document.columns()[i];
    if (is_key(before.family(), old_document, i) || new_document.find_column(column)) continue;
    const auto text = old_document.cell(old_row.row, i);
    if (!text.empty()) cells.push_back({column, std::string(text), ""});
  }
  return cells;
}

}  // namespace

TableDiff diff(const Table& before, const Table& after, bool shared_columns) {
  if (&before.family() != &after.family()) {
    fail(ErrorCode::invalid_input, "only tables of one family can be compared, these are {} and {}", before.family().op,
         after.family().op);
  }
  std::map<std::string, std::deque<const TableRow*>> old_rows;
  for (const TableRow& row : before.rows()) old_rows[identity(before, row)].push_back(&row);
  TableDiff result;
  std::map<const TableRow*, bool> paired;
  for (const TableRow& row : after.rows()) {
    auto& candidates = old_rows[identity(after, row)];
    if (candidates.empty()) {
      result.added.push_back(change_of(nullptr, &row));
      continue;
    }
    const TableRow* old_row = candidates.front();
    candidates.pop_front();
    paired[old_row] = true;
    RowChange change = change_of(old_row, &row);
    change.cells = changed_cells(before, *old_row, after, row);
    if (shared_columns)
      std::erase_if(change.cells, [](const ChangedCell& cell) { return cell.before.empty() || cell.after.empty(); });
    if (change.cells.empty())
      ++result.num_same;
    else
      result.changed.push_back(std::move(change));
  }
  for (const TableRow& row : before.rows()) {
    if (!paired.contains(&row)) result.removed.push_back(change_of(&row, nullptr));
  }
  return result;
}

}  // namespace attune
