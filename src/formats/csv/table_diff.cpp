// SPDX-License-Identifier: MIT
#include "formats/csv/table_diff.h"

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "formats/csv/key_cells.h"

namespace attune {
namespace {

Hash128 identity(const FamilySpec& family, const TableRow& row) {
  return hash128(
      fmt::format("{} {} {} {} {}", row.gfx, row.num_units, key_text(family, row.problem), row.tag, text(row.require)));
}

bool is_key(const FamilySpec& family, const CsvDocument& document, size_t column) {
  for (const AttributeSpec& key : family.key) {
    if (document.find_column(key.column) == column) return true;
  }
  return document.find_column("gfx") == column || document.find_column("cu_num") == column;
}

/// A column outside the key, in a file of the older table and in one of the newer.
struct ColumnPair {
  std::string name;
  std::optional<size_t> before, after;
};

/// First the columns of the new file, then those that only the old one has.
std::vector<ColumnPair> column_pairs(const FamilySpec& family, const CsvDocument& before, const CsvDocument& after) {
  std::vector<ColumnPair> pairs;
  for (size_t i = 0; i < after.columns().size(); ++i) {
    if (!is_key(family, after, i)) pairs.push_back({after.columns()[i], before.find_column(after.columns()[i]), i});
  }
  for (size_t i = 0; i < before.columns().size(); ++i) {
    const std::string& name = before.columns()[i];
    if (!is_key(family, before, i) && !after.find_column(name)) pairs.push_back({name, i, std::nullopt});
  }
  return pairs;
}

}  // namespace

struct ComparedTables {
  ComparedTables(const TableStream& older, const TableStream& newer, bool shared)
      : before(older), after(newer), shared_columns(shared) {
    for (const CsvDocument& old_document : before.documents()) {
      auto& of_old = columns.emplace_back();
      for (const CsvDocument& new_document : after.documents())
        of_old.push_back(column_pairs(after.family(), old_document, new_document));
    }
  }

  /// Calls `found` for each cell that differs, until it returns false.
  template <class Found>
  void compare(RowPlace old_row, RowPlace new_row, const Found& found) const {
    const CsvDocument& old_document = before.documents()[old_row.file];
    const CsvDocument& new_document = after.documents()[new_row.file];
    for (const ColumnPair& column : columns[old_row.file][new_row.file]) {
      const auto old_text = column.before ? old_document.cell(old_row.row, *column.before) : std::string_view();
      const auto new_text = column.after ? new_document.cell(new_row.row, *column.after) : std::string_view();
      if (old_text == new_text || (shared_columns && (old_text.empty() || new_text.empty()))) continue;
      if (!found(column.name, old_text, new_text)) return;
    }
  }

  bool differ(RowPlace old_row, RowPlace new_row) const {
    bool is_found = false;
    compare(old_row, new_row, [&](const auto&...) {
      is_found = true;
      return false;
    });
    return is_found;
  }

  TableStream before, after;
  bool shared_columns;
  std::vector<std::vector<std::vector<ColumnPair>>> columns;  ///< By file of the older and of the newer table.
};

RowChange RowChanges::operator[](size_t index) const {
  const auto& [old_place, new_place] = pairs_[index];
  std::optional<TableRow> before, after;
  if (old_place.file != Pair::kNone) before = tables_->before.read(old_place);
  if (new_place.file != Pair::kNone) after = tables_->after.read(new_place);
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
  if (before && after)
    tables_->compare(old_place, new_place,
                     [&](const std::string& name, std::string_view old_text, std::string_view text) {
                       change.cells.push_back({name, std::string(old_text), std::string(text)});
                       return true;
                     });
  return change;
}

namespace {

/// The rows of the older table, of which each is paired once.
class OldRows {
 public:
  explicit OldRows(const TableStream& table, std::vector<std::string>& notices) {
    notices = table.for_each([&](RowPlace place, const TableRow& row) {
      rows_.push_back({identity(table.family(), row), place, false});
    });
    std::stable_sort(rows_.begin(), rows_.end(),
                     [](const Row& one, const Row& other) { return one.identity < other.identity; });
  }

  /// Returns the first row of an identity that is not paired yet.
  std::optional<RowPlace> pair(const Hash128& identity) {
    auto row = std::lower_bound(rows_.begin(), rows_.end(), identity,
                                [](const Row& one, const Hash128& wanted) { return one.identity < wanted; });
    while (row != rows_.end() && row->identity == identity && row->is_paired) ++row;
    if (row == rows_.end() || row->identity != identity) return std::nullopt;
    row->is_paired = true;
    return row->place;
  }

  /// In the order of the table.
  std::vector<RowChanges::Pair> unpaired() const {
    std::vector<RowChanges::Pair> pairs;
    for (const Row& row : rows_) {
      if (!row.is_paired) pairs.push_back({row.place, RowChanges::Pair().after});
    }
    std::sort(pairs.begin(), pairs.end(), [](const auto& one, const auto& other) { return one.before < other.before; });
    return pairs;
  }

 private:
  struct Row {
    Hash128 identity;
    RowPlace place;
    bool is_paired;
  };
  std::vector<Row> rows_;
};

}  // namespace

TableDiff diff(const TableStream& before, const TableStream& after, bool shared_columns) {
  if (&before.family() != &after.family()) {
    fail(ErrorCode::invalid_input, "only tables of one family can be compared, these are {} and {}", before.family().op,
         after.family().op);
  }
  TableDiff result;
  const auto tables = std::make_shared<const ComparedTables>(before, after, shared_columns);
  OldRows old_rows(before, result.notices);
  std::vector<RowChanges::Pair> added, changed;
  auto notices = after.for_each([&](RowPlace place, const TableRow& row) {
    const auto old_place = old_rows.pair(identity(after.family(), row));
    if (!old_place)
      added.push_back({RowChanges::Pair().before, place});
    else if (tables->differ(*old_place, place))
      changed.push_back({*old_place, place});
    else
      ++result.num_same;
  });
  result.notices.insert(result.notices.end(), notices.begin(), notices.end());
  result.added = {tables, std::move(added)};
  result.removed = {tables, old_rows.unpaired()};
  result.changed = {tables, std::move(changed)};
  return result;
}

}  // namespace attune
