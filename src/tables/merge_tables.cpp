// SPDX-License-Identifier: MIT
#include "tables/merge_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/file.h"
#include "base/line_output.h"
#include "base/text.h"
#include "device/devices.h"
#include "formats/csv/family_of_file.h"
#include "formats/csv/key_cells.h"
#include "formats/csv/publish.h"
#include "ops/family.h"
#include "report/json_output.h"
#include "tables/row_status.h"
#include "tables/runtime_tables.h"

namespace attune {
namespace {

using nlohmann::ordered_json;
namespace fs = std::filesystem;

bool same_name(std::string_view one, std::string_view other) { return to_lower(one) == to_lower(other); }

/// Returns the named files, else the run time's of the family.
std::vector<fs::path> inputs_of(const TablesOptions& options) {
  std::vector<fs::path> files;
  for (const std::string& paths : options.tables) {
    for (fs::path& file : split_table_paths(paths)) files.push_back(std::move(file));
  }
  if (!options.tables.empty()) return files;
  const FamilySpec* family = family_option(options.op);
  if (!family) fail(ErrorCode::invalid_input, "say which tables: name them, or give the run time's family with --op");
  for (const TableSource& source : table_sources(*family).files) files.push_back(source.file);
  if (files.empty())
    fail(ErrorCode::invalid_input, "the run time has no tables of {}, name those to merge", family->op);
  return files;
}

/// Unlike the run time, a merge fails on a wrong file: some of the rows must not pass for all.
Table read_inputs(const std::vector<fs::path>& files, const TablesOptions& options) {
  std::vector<CsvDocument> documents;
  for (const fs::path& file : files) documents.push_back(CsvDocument::read(file));
  const FamilySpec* family = family_of_file(documents.front(), options.op).family;
  for (const CsvDocument& document : documents) check_publishable(document, *family);
  return Table::of(std::move(documents), family);
}

/// Refuses to overwrite files that are no table of the family.
void check_merged_output(const fs::path& output, const std::vector<fs::path>& inputs, const FamilySpec& family) {
  check_output(output);
  std::error_code missing;
  for (const fs::path& input : inputs) {
    if (fs::equivalent(input, output, missing))
      fail(ErrorCode::invalid_input, "the output must be none of the tables that are read, name another: '{}'",
           shown(output.string(), 500));
  }
  if (!fs::is_regular_file(output, missing) || fs::file_size(output, missing) == 0) return;
  const CsvDocument old = CsvDocument::read(output);
  check_publishable(old, family);
  for (const KeyColumn& key : family.key) {
    if (key.default_value.empty() && !old.find_column(key.column))
      fail(ErrorCode::invalid_input, "the file is there and is no table of {}, name another: '{}'", family.op,
           shown(output.string(), 500));
  }
}

/// Returns the columns of the first file, then those that only others have.
std::vector<std::string> merged_columns(const Table& table) {
  std::vector<std::string> columns = table.documents().front().columns();
  for (const CsvDocument& document : table.documents()) {
    for (const std::string& column : document.columns()) {
      const auto is = [&](const std::string& one) { return same_name(one, column); };
      if (std::none_of(columns.begin(), columns.end(), is)) columns.push_back(column);
    }
  }
  return columns;
}

/// Returns the cell of a column that the row's file lacks: the key's value, because older tools would read an empty
/// cell as another key; empty for other columns.
std::string cell_of_none(const Table& table, const TableRow& row, const std::string& column) {
  if (same_name(column, "gfx")) return row.gfx;
  for (const KeyColumn& key : table.family().key) {
    if (same_name(column, key.column)) return cell_text(table.family(), key, key_value(row.problem, key));
  }
  return "";
}

std::string merged_text(const Table& table, const std::vector<RowReport>& statuses) {
  const auto columns = merged_columns(table);
  std::vector<std::vector<std::optional<size_t>>> places;  // For each document and merged column.
  for (const CsvDocument& document : table.documents()) {
    auto& own = places.emplace_back();
    for (const std::string& column : columns) own.push_back(document.find_column(column));
  }
  std::string text;
  const auto add_line = [&](auto&& cell) {
    for (size_t i = 0; i < columns.size(); ++i) text += (i > 0 ? "," : "") + csv_cell(cell(i));
    text += table.documents().front().line_end();
  };
  add_line([&](size_t i) { return columns[i]; });
  for (const RowReport& one : statuses) {
    if (one.status != RowStatus::taken) continue;
    const TableRow& row = *one.row;
    add_line([&](size_t i) {
      const auto place = places[row.file][i];
      return place ? std::string(table.documents()[row.file].cell(row.row, *place))
                   : cell_of_none(table, row, columns[i]);
    });
  }
  return text;
}

/// Reports rows of no model that would win over rows of a model: in one table the lower time wins, regardless of the
/// file.
void note_models(const Table& table, const std::vector<RowReport>& statuses) {
  std::map<std::string, double> of_a_model;  // The slowest row of each key that names a model.
  size_t count = 0;
  for (const RowReport& one : statuses) {
    if (one.status != RowStatus::taken || one.row->device.empty()) continue;
    double& slowest = of_a_model[contested_key(table, *one.row)];
    slowest = std::max(slowest, *one.row->us);
  }
  for (const RowReport& one : statuses) {
    if (one.status != RowStatus::taken || !one.row->device.empty()) continue;
    const auto found = of_a_model.find(contested_key(table, *one.row));
    if (found != of_a_model.end() && found->second > *one.row->us) ++count;
  }
  if (count > 0)
    print_line(stderr, fmt::format("note: {} of no model stand beside slower ones that name theirs: in one table the "
                                   "lower time wins",
                                   counted(count, "row")));
}

struct FileShare {
  size_t num_taken = 0, num_rows = 0;
};

std::vector<FileShare> shares_of(const Table& table, const std::vector<RowReport>& statuses) {
  std::vector<FileShare> shares(table.documents().size());
  for (const RowReport& one : statuses) {
    FileShare& share = shares[one.row->file];
    ++share.num_rows;
    if (one.status == RowStatus::taken) ++share.num_taken;
  }
  return shares;
}

size_t num_taken_of(const std::vector<RowReport>& statuses, const DeviceInfo& device) {
  return static_cast<size_t>(std::count_if(statuses.begin(), statuses.end(), [&](const RowReport& one) {
    return one.status == RowStatus::taken && one.row->gfx == device.gfx && one.row->num_units == device.num_units;
  }));
}

void print_merge_json(const Table& table, const std::vector<RowReport>& statuses, const TablesOptions& options,
                      const DeviceInfo& device) {
  ordered_json rows = ordered_json::array(), files = ordered_json::array();
  for (const RowReport& one : statuses) {
    if (one.status != RowStatus::taken) continue;
    rows.push_back({{"key", one.row->problem.key()},
                    {"device", fmt::format("{}/{}", one.row->gfx, one.row->num_units)},
                    {"file", table.documents()[one.row->file].name()},
                    {"line", one.row->line}});
  }
  const auto shares = shares_of(table, statuses);
  for (size_t file = 0; file < shares.size(); ++file) {
    files.push_back({{"file", table.documents()[file].name()},
                     {"num_rows", shares[file].num_rows},
                     {"num_taken", shares[file].num_taken}});
  }
  print_json({{"output", options.output},
              {"family", table.family().op},
              {"device", device.key()},
              {"num_of_device", num_taken_of(statuses, device)},
              {"files", files},
              {"rows", rows}});
}

void print_merge(const Table& table, const std::vector<RowReport>& statuses, const TablesOptions& options,
                 const DeviceInfo& device) {
  const auto counts = count_statuses(statuses);
  print_line(stdout, fmt::format("{} of {} in '{}', {} of them of {}", counted(counts[0], "row"), table.family().op,
                                 options.output, num_taken_of(statuses, device), device.key()));
  const auto shares = shares_of(table, statuses);
  for (size_t file = 0; file < shares.size(); ++file) {
    print_line(stdout, fmt::format("  {:>8} of {:>8}  {}", shares[file].num_taken,
                                   counted(shares[file].num_rows, "row"), table.documents()[file].name()));
  }
  for (size_t status = 1; status < counts.size(); ++status) {
    if (counts[status] > 0)
      print_line(stdout, fmt::format("  {:>8} left out: it {}", counts[status], name(static_cast<RowStatus>(status))));
  }
}

}  // namespace

int merge_tables(const TablesOptions& options) {
  const DeviceInfo device = find_device(options.device);
  const auto inputs = inputs_of(options);
  const Table table = read_inputs(inputs, options);
  const auto statuses = row_statuses(table);
  if (count_statuses(statuses)[static_cast<size_t>(RowStatus::taken)] == 0)
    fail(ErrorCode::invalid_input, "no row of the tables has a usable time, there is nothing to merge: '{}'",
         shown(inputs.front().string(), 500));
  check_merged_output(options.output, inputs, table.family());
  note_models(table, statuses);
  const FileLock lock(options.output, FileLock::Use::shared);
  remove_stale_temporaries(options.output);
  write_file_atomically(options.output, merged_text(table, statuses));
  if (options.json)
    print_merge_json(table, statuses, options, device);
  else
    print_merge(table, statuses, options, device);
  return 0;
}

}  // namespace attune
