// SPDX-License-Identifier: MIT
#include "tables/row_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "formats/csv/key_cells.h"
#include "formats/csv/table_columns.h"

namespace attune {
namespace {

/// Rows compete only with those that state the same.
RowRank rank_of(const TableRow& row) noexcept { return row.rank(row.require); }

/// Returns the status as far as it does not depend on other rows.
RowStatus own_status(const TableRow& row, const DeviceInfo* device) {
  if (device && (row.gfx != device->gfx || row.num_units != device->num_units)) return RowStatus::other_device;
  if (!row.tag.empty()) return RowStatus::tagged;
  if (!row.us) return RowStatus::without_time;
  if (device && !is_of_model(row.device, device->model)) return RowStatus::other_model;
  return RowStatus::taken;
}

}  // namespace

std::string_view name(RowStatus status) noexcept {
  static constexpr std::array<std::string_view, kNumRowStatuses> kNames = {"is taken",
                                                                           "is shadowed by an earlier file",
                                                                           "is slower than another row of its file",
                                                                           "has no usable time",
                                                                           "has a _tag",
                                                                           "is of another model",
                                                                           "is of another device"};
  return kNames[static_cast<size_t>(status)];
}

std::string contested_key(const Table& table, const TableRow& row) {
  // An empty layout means plain.
  return fmt::format("{} {} {} {} {}", row.gfx, row.num_units, row.layout == "plain" ? "" : row.layout,
                     text(row.require), key_text(table.family(), row.problem));
}

std::vector<RowReport> row_statuses(const Table& table, const DeviceInfo* device) {
  std::vector<RowReport> statuses;
  std::vector<size_t> contenders;
  for (const TableRow& row : table.rows()) {
    statuses.push_back({&row, own_status(row, device), nullptr});
    if (statuses.back().status == RowStatus::taken) contenders.push_back(statuses.size() - 1);
  }
  std::stable_sort(contenders.begin(), contenders.end(), [&](size_t one, size_t other) {
    return rank_of(*statuses[one].row) < rank_of(*statuses[other].row);
  });
  std::map<std::string, std::vector<const TableRow*>> taken;
  for (const size_t index : contenders) {
    RowReport& one = statuses[index];
    auto& winners = taken[contested_key(table, *one.row)];
    const auto beats = [&](const TableRow* winner) {
      return device || winner->device.empty() || winner->device == one.row->device;
    };
    const auto winner = std::find_if(winners.begin(), winners.end(), beats);
    if (winner == winners.end()) {
      winners.push_back(one.row);
      continue;
    }
    one.by = *winner;
    one.status = one.by->file == one.row->file ? RowStatus::slower : RowStatus::shadowed;
  }
  return statuses;
}

std::string detail_of(const Table& table, const RowReport& report) {
  const TableRow& row = *report.row;
  if (report.by != nullptr) return fmt::format("{} wins, {} µs", place_of(table, *report.by), *report.by->us);
  if (report.status == RowStatus::without_time) return time_error(table.cell(row, "us"));
  if (report.status == RowStatus::tagged) return shown(row.tag);
  if (report.status == RowStatus::other_model) return shown(row.device);
  return "";
}

std::array<size_t, kNumRowStatuses> count_statuses(std::span<const RowReport> rows) {
  std::array<size_t, kNumRowStatuses> counts{};
  for (const RowReport& one : rows) ++counts[static_cast<size_t>(one.status)];
  return counts;
}

std::vector<FileCounts> file_counts(const Table& table, std::span<const RowReport> rows, const DeviceInfo& device) {
  std::vector<FileCounts> counts(table.documents().size());
  std::vector<std::set<std::string>> shadowed(counts.size());
  for (const RowReport& one : rows) {
    const TableRow& row = *one.row;
    FileCounts& file = counts[row.file];
    const bool is_taken = one.status == RowStatus::taken;
    const bool is_of_device = row.gfx == device.gfx && row.num_units == device.num_units;
    ++file.num_rows;
    if (is_taken) ++file.num_taken;
    if (is_of_device) ++file.num_of_device;
    if (is_taken && is_of_device) ++file.num_taken_of_device;
    if (!row.us) ++file.num_without_time;
    if (one.status == RowStatus::shadowed) shadowed[row.file].insert(contested_key(table, row));
  }
  for (size_t file = 0; file < counts.size(); ++file) counts[file].num_shadowed = shadowed[file].size();
  return counts;
}

std::string place_of(const Table& table, const TableRow& row) { return table.documents()[row.file].where(row.row); }

}  // namespace attune
