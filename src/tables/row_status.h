// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ban.h"
#include "core/candidate.h"
#include "core/device_info.h"
#include "formats/csv/table.h"

namespace attune {

/// How the run time treats a row. Only under a requirement: `unstated`, the row does not state it; `other_kernel`,
/// under batch_invariant, it names another kernel than the first row of its weight (rows that differ in M alone).
/// `banned`: its kernel is, for every problem.
enum class RowStatus : uint8_t {
  taken,
  shadowed,
  slower,
  without_time,
  tagged,
  other_model,
  other_device,
  unstated,
  other_kernel,
  banned
};
inline constexpr size_t kNumRowStatuses = 10;
/// Returns the status as a clause, such as `has no usable time`.
std::string_view name(RowStatus status) noexcept;

struct RowReport {
  const TableRow* row = nullptr;
  RowStatus status = RowStatus::taken;
  /// The winning row: of an earlier file (shadowed) or of the same file (slower); the first of its weight
  /// (other_kernel).
  const TableRow* by = nullptr;
  std::string ban;  ///< Of a banned row: the reason.
};

/// Whether the kernel of a row can serve on the device that reads the table.
using RowCheck = std::function<bool(const TableRow& row)>;

/// Returns the status of each row, in the order of the table. For each key, layout, requirement and device, the row of
/// the lowest RowRank wins. `can_serve`: a row for which it returns false beats no other, and its own status does not
/// say so; it is asked only of rows that would beat another. Empty: every row can. With `device`, the statuses are
/// those on that device. Without, they are for all devices at once: a row that names a model then loses only to a row
/// of that model or of no model, and a row of no model only to another such row. Likewise with `required`, which needs
/// a device, the statuses are those in a process that requires it, else those in all processes at once: rows that state
/// different requirements then do not compete. A row whose kernel is banned on its device competes with none. O(n log
/// n).
std::vector<RowReport> row_statuses(const Table& table, const DeviceInfo* device = nullptr,
                                    Requirement required = Requirement::none, const BanList& bans = {},
                                    const RowCheck& can_serve = {});

/// Returns more of the reason for a row that is not taken, such as `t.csv:3 wins, 2 µs`; empty: the status says all.
std::string detail_of(const Table& table, const RowReport& report);

/// Returns why a kernel cannot run on a device; nothing if it can.
using KernelCheck = std::function<std::optional<std::string>(const Candidate& kernel)>;

/// The kernel that a row names, as far as it can serve.
struct RowKernel {
  std::optional<Candidate> candidate;         ///< Nothing: this program has no kernel of that name.
  std::optional<std::string> why_unservable;  ///< A clause; nothing: it serves.
};

/// Whether the kernel of a row can serve calls of the row's key: the one rule of all commands that read rows, and that
/// of the run time. Checked in this order: this program has a kernel of that name, it reads weights in the row's
/// layout, and `usable`. `layout`: the row's cell, empty for plain; nothing: the row's file has no such column. Throws
/// what `usable` throws.
RowKernel row_kernel(std::string_view name, std::optional<std::string_view> layout, const KernelCheck& usable);

/// Counts the rows of each status.
std::array<size_t, kNumRowStatuses> count_statuses(std::span<const RowReport> rows);

/// Numbers of rows of one file.
struct FileCounts {
  size_t num_rows = 0, num_taken = 0;
  size_t num_of_device = 0, num_taken_of_device = 0;  ///< Rows of one architecture, number of units and model.
  size_t num_without_time = 0;
  size_t num_shadowed = 0;  ///< Keys, not rows, that an earlier file has.
};
/// Counts the rows of each document of the table; `device` is the one of FileCounts::num_of_device.
std::vector<FileCounts> file_counts(const Table& table, std::span<const RowReport> rows, const DeviceInfo& device);

/// Returns the file and line of a row: `t.csv:17`.
std::string place_of(const Table& table, const TableRow& row);

/// Returns a row's key with its device, layout and requirement. A device uses one of the rows with the same one.
std::string contested_key(const Table& table, const TableRow& row);

}  // namespace attune
