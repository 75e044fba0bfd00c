// SPDX-License-Identifier: MIT
#include "tables/merge.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/locations.h"
#include "base/text.h"
#include "dispatch/table/table_sources.h"
#include "formats/csv/family_of_file.h"
#include "formats/csv/key_cells.h"
#include "formats/csv/publish.h"
#include "ops/family.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> inputs_of(std::span<const std::string> named, const std::string& op) {
  std::vector<fs::path> files;
  for (const std::string& paths : named) {
    for (fs::path& file : split_table_paths(paths)) files.push_back(std::move(file));
  }
  if (!named.empty()) return files;
  const FamilySpec* family = family_option(op);
  if (!family)
    fail(ErrorCode::invalid_input, "name the tables to merge, or choose the run time's tables of a family with --op");
  for (const TableSource& source : table_sources(*family).files) files.push_back(source.file);
  if (files.empty())
    fail(ErrorCode::invalid_input, "the run time has no tables of {}, name those to merge", family->op);
  return files;
}

Table read_inputs(const std::vector<fs::path>& files, const std::string& op) {
  std::vector<CsvDocument> documents;
  for (const fs::path& file : files) documents.push_back(CsvDocument::read(file));
  const FamilySpec* family = family_of_file(documents.front(), op).family;
  for (const CsvDocument& document : documents) check_publishable(document, *family);
  return Table::of(std::move(documents), family);
}

/// Refuses to overwrite files that are no table of the family.
void check_merge_output(const fs::path& output, const std::vector<fs::path>& inputs, const FamilySpec& family) {
  check_output(output);
  std::error_code missing;
  for (const fs::path& input : inputs) {
    if (fs::equivalent(input, output, missing))
      fail(ErrorCode::invalid_input, "the output must not be one of the tables that are read, name another: '{}'",
           shown(output.string(), 500));
  }
  if (!fs::is_regular_file(output, missing) || fs::file_size(output, missing) == 0) return;
  const CsvDocument old = CsvDocument::read(output);
  check_publishable(old, family);
  for (const AttributeSpec& key : family.key) {
    if (key.default_value.empty() && !old.find_column(key.column))
      fail(ErrorCode::invalid_input, "the file exists and is not a table of {}, name another: '{}'", family.op,
           shown(output.string(), 500));
  }
}

/// Returns the columns of the first file, then those that only others have.
std::vector<std::string> merged_columns(const Table& table) {
  std::vector<std::string> columns = table.documents().front().columns();
  for (const CsvDocument& document : table.documents()) {
    for (const std::string& column : document.columns()) {
      const auto is = [&](const std::string& one) { return equal_ignoring_case(one, column); };
      if (std::none_of(columns.begin(), columns.end(), is)) columns.push_back(column);
    }
  }
  return columns;
}

/// Returns the cell of a column that the row's file lacks: the key's value, because older tools would read an empty
/// cell as another key; empty for other columns.
std::string cell_of_none(const Table& table, const TableRow& row, const std::string& column) {
  if (equal_ignoring_case(column, "gfx")) return row.gfx;
  for (const AttributeSpec& key : table.family().key) {
    if (equal_ignoring_case(column, key.column)) return cell_text(table.family(), key, key_value(row.problem, key));
  }
  return "";
}

}  // namespace

fs::path merged_table(const FamilySpec& family) { return merged_location().path / family.default_file; }

std::string Merge::text() const {
  const auto columns = merged_columns(table_);
  std::vector<std::vector<std::optional<size_t>>> places;  // For each document and merged column.
  for (const CsvDocument& document : table_.documents()) {
    auto& own = places.emplace_back();
    for (const std::string& column : columns) own.push_back(document.find_column(column));
  }
  std::string text;
  const auto add_line = [&](auto&& cell) {
    for (size_t i = 0; i < columns.size(); ++i) text += (i > 0 ? "," : "") + csv_cell(cell(i));
    text += table_.documents().front().line_end();
  };
  add_line([&](size_t i) { return columns[i]; });
  for (const RowReport& one : rows_) {
    if (one.status != RowStatus::taken) continue;
    const TableRow& row = *one.row;
    add_line([&](size_t i) {
      const auto place = places[row.file][i];
      return place ? std::string(table_.documents()[row.file].cell(row.row, *place))
                   : cell_of_none(table_, row, columns[i]);
    });
  }
  return text;
}

std::vector<std::string> Merge::notices() const {
  std::map<std::string, double> of_a_model;  // The slowest row of each key that names a model.
  size_t count = 0;
  for (const RowReport& one : rows_) {
    if (one.status != RowStatus::taken || one.row->device.empty()) continue;
    double& slowest = of_a_model[contested_key(table_, *one.row)];
    slowest = std::max(slowest, *one.row->us);
  }
  for (const RowReport& one : rows_) {
    if (one.status != RowStatus::taken || !one.row->device.empty()) continue;
    const auto found = of_a_model.find(contested_key(table_, *one.row));
    if (found != of_a_model.end() && found->second > *one.row->us) ++count;
  }
  if (count == 0) return {};
  return {fmt::format(
      "{} without a device model: slower rows that name one lose to it in one table, where the lower time wins",
      counted(count, "row"))};
}

Merge read_merge(std::span<const std::string> named, const std::string& op, const fs::path& output) {
  const auto inputs = inputs_of(named, op);
  Merge merge(read_inputs(inputs, op));
  if (count_statuses(merge.rows())[static_cast<size_t>(RowStatus::taken)] == 0)
    fail(ErrorCode::invalid_input, "no row of the tables has a usable time, there is nothing to merge: '{}'",
         shown(inputs.front().string(), 500));
  const FamilySpec& family = merge.table().family();
  if (!output.empty()) {
    check_merge_output(output, inputs, family);
    return merge;
  }
  check_cache_location();
  const fs::path standard = merged_table(family);
  if (fs::exists(standard.parent_path())) check_merge_output(standard, inputs, family);
  return merge;
}

void write_merge(const Merge& merge, const fs::path& output) {
  if (output.parent_path() == path_if_any(merged_location)) make_private_folder(output.parent_path());
  const FileLock lock(output, FileLock::Use::shared);
  remove_stale_temporaries(output);
  write_file_atomically(output, merge.text());
}

}  // namespace attune
