// SPDX-License-Identifier: MIT
#include "cli/row_fates.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "formats/csv/key_cells.h"

namespace attune {
namespace {

/// What is to be said without a look at other rows.
Fate own_fate(const TableRow& row, const DeviceInfo* device) {
  if (device && (row.gfx != device->gfx || row.num_units != device->num_units)) return Fate::other_device;
  if (!row.tag.empty()) return Fate::tagged;
  if (!row.us) return Fate::without_time;
  if (device && !row.device.empty() && !device->model.empty() && row.device != device->model) return Fate::other_model;
  return Fate::taken;
}

}  // namespace

std::string_view name(Fate fate) noexcept {
  static constexpr std::array<std::string_view, kNumFates> kNames = {"is taken",
                                                                     "is shadowed by a file before",
                                                                     "is slower than another of its file",
                                                                     "has no usable time",
                                                                     "has a _tag",
                                                                     "is of another model",
                                                                     "is of another device"};
  return kNames[static_cast<size_t>(fate)];
}

std::string contested_key(const Table& table, const TableRow& row) {
  // No layout is the plain one.
  return fmt::format("{} {} {} {}", row.gfx, row.num_units, row.layout == "plain" ? "" : row.layout,
                     key_text(table.family(), row.problem));
}

std::vector<RowFate> row_fates(const Table& table, const DeviceInfo* device) {
  std::vector<RowFate> fates;
  std::vector<size_t> contenders;
  for (const TableRow& row : table.rows()) {
    fates.push_back({&row, own_fate(row, device), nullptr});
    if (fates.back().fate == Fate::taken) contenders.push_back(fates.size() - 1);
  }
  std::stable_sort(contenders.begin(), contenders.end(), [&](size_t one, size_t other) {
    const TableRow &a = *fates[one].row, &b = *fates[other].row;
    return std::pair(a.file, *a.us) < std::pair(b.file, *b.us);
  });
  std::map<std::string, std::vector<const TableRow*>> taken;
  for (const size_t index : contenders) {
    RowFate& one = fates[index];
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
    one.fate = one.by->file == one.row->file ? Fate::slower : Fate::shadowed;
  }
  return fates;
}

std::array<size_t, kNumFates> count_fates(const std::vector<RowFate>& fates) {
  std::array<size_t, kNumFates> counts{};
  for (const RowFate& one : fates) ++counts[static_cast<size_t>(one.fate)];
  return counts;
}

}  // namespace attune
