// SPDX-License-Identifier: MIT
#include "dispatch/table/named_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "core/candidate.h"
#include "dispatch/table/find_db_table.h"
#include "formats/csv/csv_scan.h"
#include "formats/csv/family_of_file.h"
#include "formats/csv/row_choice.h"
#include "formats/csv/table.h"
#include "formats/csv/table_columns.h"
#include "formats/find_db/find_db.h"

namespace attune {
namespace {

namespace fs = std::filesystem;

/// A table has times or kernels; a list has shapes alone.
bool is_list(const CsvDocument& head) {
  const auto is_of_result = [](const std::string& column) {
    const std::string name = to_lower(column);
    return name == "us" || name == "solidx" || name.starts_with("kernel");
  };
  return std::none_of(head.columns().begin(), head.columns().end(), is_of_result);
}

/// Whether a writer was interrupted: the last line has no end, and fewer cells than the header. Requires: a regular
/// file. A file that was cut between two lines is not recognised.
bool is_torn(const fs::path& file, size_t num_columns) {
  constexpr uint64_t kTail = 64 * 1024;
  const std::string tail = read_file_end(file, kTail);
  if (tail.empty() || tail.back() == '\n') return false;
  const size_t line = tail.rfind('\n');
  if (line == tail.npos) return false;  // A header alone, or a line that is longer than any row.
  const auto commas = std::count(tail.begin() + static_cast<ptrdiff_t>(line), tail.end(), ',');
  return static_cast<size_t>(commas) + 1 < num_columns;
}

std::string_view cell(const CsvScan& scan, std::optional<size_t> column) {
  return column ? scan.cell(*column) : std::string_view();
}

bool is_kernel_of_ours(std::string_view name) {
  try {
    Candidate::parse(name);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Whether a row can serve the device; true for a table without rows.
bool has_row_for(CsvScan& scan, const DeviceInfo& device) {
  const CsvDocument& head = scan.head();
  const auto gfx = head.find_column("gfx"), units = head.find_column("cu_num"), us = head.find_column("us"),
             kernel = head.find_column("kernelName"), model = head.find_column("device"),
             tag = head.find_column("_tag");
  bool is_empty = true;
  while (scan.next()) {
    is_empty = false;
    const auto count = units_of(cell(scan, units));
    if (!count || *count != device.num_units || !cell(scan, tag).empty()) continue;
    const std::string_view stated = cell(scan, gfx);
    if ((stated.empty() ? gfx_of_units(*count) : stated) != device.gfx) continue;
    if (is_of_model(cell(scan, model), device.model) && usable_time(cell(scan, us)) &&
        is_kernel_of_ours(cell(scan, kernel)))
      return true;
  }
  return is_empty;
}

/// The same of a find-db. Throws invalid_input.
NamedTableCheck check_named_find_db(const fs::path& file, const FamilySpec& family, const DeviceInfo* device) {
  if (family.op != "conv")
    return {fmt::format("a find-db, which holds convolutions, not {}: '{}'", family.op, file.string())};
  FindDbTable table = find_db_table(file, device);
  if (table.num_rows == 0)
    return {table.num_foreign > 0 ? fmt::format("a find-db whose solvers this program lacks, such as {}: '{}'",
                                                shown(table.first_foreign), file.string())
                                  : fmt::format("a find-db without a usable entry: '{}'", file.string())};
  CsvScan scan(std::move(table.csv), file.string(), 0);
  return {std::nullopt, device == nullptr || has_row_for(scan, *device)};
}

}  // namespace

NamedTableCheck check_named_table(const fs::path& file, const FamilySpec& family, const DeviceInfo* device) {
  std::error_code missing;
  if (!fs::exists(file, missing)) return {fmt::format("a table that does not exist: '{}'", file.string())};
  try {
    if (is_find_db(file)) return check_named_find_db(file, family, device);
    CsvScan scan(file);
    if (is_list(scan.head()))
      return {fmt::format("a list of shapes, which has no times and no kernels, tune it first: '{}'", file.string())};
    if (const FamilySpec* other = better_family(family, scan.head()))
      return {fmt::format("a table of {}, not of {}: '{}'", other->op, family.op, file.string())};
    if (is_torn(file, scan.head().columns().size()))
      return {fmt::format("a table whose last line is cut off, write it again: '{}'", file.string())};
    return {std::nullopt, device == nullptr || has_row_for(scan, *device)};
  } catch (const Error& error) {
    return {fmt::format("a file that is no table of {}, {}", family.op, error.what())};
  }
}

}  // namespace attune
