// SPDX-License-Identifier: MIT
#include "tables/row_status.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "core/candidate.h"
#include "formats/csv/key_cells.h"
#include "formats/csv/table_columns.h"
#include "solver/contender.h"

namespace attune {
namespace {

/// Where nothing is required, rows compete only with those that state the same.
Requirement reader_of(const TableRow& row, Requirement required) noexcept {
  return required == Requirement::none ? row.require : required;
}

/// Rows of equal keys compete for a device.
std::string key_of(const Table& table, const TableRow& row, Requirement stated) {
  return fmt::format("{} {} {} {} {}", row.gfx, row.num_units, layout_in_cell(row.layout), text(stated),
                     key_text(table.family(), row.problem));
}

/// Returns the row's key without the rows of the problem, as the run time has it.
std::string weight_of(const Table& table, const TableRow& row) {
  const std::string_view rows = table.family().rows;
  return key_text(table.family(), rows.empty() ? row.problem : row.problem.with(rows, "0"));
}

/// Returns the status as far as it does not depend on other rows.
RowStatus own_status(const TableRow& row, const DeviceInfo* device, Requirement required) {
  if (device && (row.gfx != device->gfx || row.num_units != device->num_units)) return RowStatus::other_device;
  if (device && !is_of_model(row.device, device->model)) return RowStatus::other_model;
  if (!row.tag.empty()) return RowStatus::tagged;
  if (!row.us) return RowStatus::without_time;
  return meets(row.require, required) ? RowStatus::taken : RowStatus::unstated;
}

/// Null: the row's kernel is not banned for every problem on the row's device.
const Ban* ban_of(const TableRow& row, const BanList& bans) {
  return bans.empty() ? nullptr : bans.find(row.kernel_name, fmt::format("{}/{}", row.gfx, row.num_units));
}

}  // namespace

std::string_view name(RowStatus status) noexcept {
  static constexpr std::array<std::string_view, kNumRowStatuses> kNames = {"is taken",
                                                                           "is shadowed by an earlier file",
                                                                           "is slower than another row of its file",
                                                                           "has no usable time",
                                                                           "has a _tag",
                                                                           "is of another model",
                                                                           "is of another device",
                                                                           "does not state what is required",
                                                                           "names another kernel than the first row "
                                                                           "of its weight",
                                                                           "names a banned kernel"};
  return kNames[static_cast<size_t>(status)];
}

std::string contested_key(const Table& table, const TableRow& row) { return key_of(table, row, row.require); }

std::vector<RowReport> row_statuses(const Table& table, const DeviceInfo* device, Requirement required,
                                    const BanList& bans, const RowCheck& can_serve) {
  ATTUNE_CHECK(device != nullptr || required == Requirement::none, "rows under a requirement need a device");
  std::vector<RowReport> statuses;
  std::vector<size_t> contenders;
  std::map<std::string, const TableRow*> first_of_weight;  // Under batch_invariant; also rows that lose count.
  for (const TableRow& row : table.rows()) {
    RowReport& one = statuses.emplace_back(RowReport{&row, own_status(row, device, required), nullptr, ""});
    if (const Ban* ban = one.status == RowStatus::taken ? ban_of(row, bans) : nullptr)
      one = {&row, RowStatus::banned, nullptr, ban->reason};
    if (one.status == RowStatus::taken && required == Requirement::batch_invariant) {
      const TableRow* first = first_of_weight.try_emplace(weight_of(table, row), &row).first->second;
      if (first->kernel_name != row.kernel_name) one = {&row, RowStatus::other_kernel, first, ""};
    }
    if (one.status == RowStatus::taken) contenders.push_back(statuses.size() - 1);
  }
  const auto rank_of = [&](size_t index) {
    const TableRow& row = *statuses[index].row;
    return row.rank(reader_of(row, required));
  };
  std::stable_sort(contenders.begin(), contenders.end(),
                   [&](size_t one, size_t other) { return rank_of(one) < rank_of(other); });
  std::map<std::string, std::vector<const TableRow*>> taken;
  for (const size_t index : contenders) {
    RowReport& one = statuses[index];
    auto& winners =
        taken[key_of(table, *one.row, required == Requirement::none ? one.row->require : Requirement::none)];
    const auto beats = [&](const TableRow* winner) {
      return device || winner->device.empty() || winner->device == one.row->device;
    };
    auto winner = std::find_if(winners.begin(), winners.end(), beats);
    if (winner != winners.end() && can_serve && !can_serve(**winner)) {
      *winner = one.row;
      continue;
    }
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
  if (report.status == RowStatus::other_kernel) return place_of(table, *report.by);
  if (report.status == RowStatus::banned) return report.ban;
  if (report.by != nullptr) return fmt::format("{} wins, {} µs", place_of(table, *report.by), *report.by->us);
  if (report.status == RowStatus::without_time) return time_error(table.cell(row, "us"));
  if (report.status == RowStatus::tagged) return shown(row.tag);
  if (report.status == RowStatus::other_model) return shown(row.device);
  return "";
}

RowKernel row_kernel(std::string_view name, std::optional<std::string_view> layout, const KernelCheck& usable) {
  RowKernel kernel;
  try {
    kernel.candidate = Candidate::parse(name);
  } catch (const Error&) {
    kernel.why_unservable = fmt::format("this program has no such kernel: '{}'", shown(name));
    return kernel;
  }
  if (layout) kernel.why_unservable = why_unreadable(*kernel.candidate, *layout);
  if (!kernel.why_unservable) kernel.why_unservable = usable(*kernel.candidate);
  return kernel;
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
    const bool is_of_device =
        row.gfx == device.gfx && row.num_units == device.num_units && is_of_model(row.device, device.model);
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
