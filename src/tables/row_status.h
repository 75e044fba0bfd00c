// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/device_info.h"
#include "formats/csv/table.h"

namespace attune {

/// What the run time makes of a row.
enum class RowStatus : uint8_t { taken, shadowed, slower, without_time, tagged, other_model, other_device };
inline constexpr size_t kNumRowStatuses = 7;
/// What became of a row, as a clause: `has no usable time`.
std::string_view name(RowStatus status) noexcept;

struct RowReport {
  const TableRow* row = nullptr;
  RowStatus status = RowStatus::taken;
  const TableRow* by = nullptr;  ///< The row that wins: of a file before (shadowed), of its own file (slower).
};

/// What becomes of each row, in the order of the table. Of a key, layout and device the first file that has it with a
/// usable time wins, inside one file the lowest time (of equal ones the first); whether the kernel can be run does not
/// matter. With `device`, as on that one. Without, for all devices at once: then a row that names a model loses only
/// to one of its model or of none, a row of none to one of none. O(n log n).
std::vector<RowReport> row_statuses(const Table& table, const DeviceInfo* device = nullptr);

/// How many rows have each status.
std::array<size_t, kNumRowStatuses> count_statuses(const std::vector<RowReport>& statuses);

/// The key of a row with its device and layout: of the rows that have it one is taken on a device.
std::string contested_key(const Table& table, const TableRow& row);

}  // namespace attune
