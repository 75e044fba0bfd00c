// SPDX-License-Identifier: MIT
#include "formats/csv/table_columns.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "formats/csv/key_cells.h"

namespace attune {
namespace {

using enum TableColumn::Place;

/// From shorter than any clock can measure to longer than anyone has waited, so that ratios of times stay finite.
constexpr double kShortest_us = 1e-9, kLongest_us = 1e18;

std::string time_text(double us) { return fmt::format("{:.4f}", us); }

/// The shortest text of a fraction with at most four decimals: `0.0`, `0.0029`.
std::string fraction_text(double value) {
  std::string text = fmt::format("{:.4f}", value);
  while (text.ends_with('0') && !text.ends_with(".0")) text.pop_back();
  return text;
}

/// Reads `0.0029` or `0.9%`.
std::optional<double> fraction(std::string_view text) {
  if (!text.ends_with('%')) return parse_double(text);
  const auto percent = parse_double(trim(text.substr(0, text.size() - 1)));
  if (!percent) return std::nullopt;
  return *percent / 100;
}

int64_t units(std::string_view cell) {
  if (const auto number = units_of(cell)) return *number;
  fail(ErrorCode::invalid_input, "{}", units_error(cell));
}

using Cell = std::string_view;

/// In the order in which they are read, and in which those at the end are appended.
constexpr std::array kColumns = {
    TableColumn{.name = "gfx",
                .place = first,
                .write = [](const PublishedRow& row) { return row.gfx; },
                .read = [](Cell cell, TableRow& row) { row.gfx = cell; }},
    TableColumn{.name = "cu_num",
                .place = first,
                .write = [](const PublishedRow& row) { return std::to_string(row.num_units); },
                .read = [](Cell cell, TableRow& row) { row.num_units = units(cell); }},
    TableColumn{.name = "libtype",
                .write = [](const PublishedRow& row) { return row.libtype; },
                .read = [](Cell cell, TableRow& row) { row.libtype = cell; }},
    TableColumn{.name = "solidx",
                .other_name = "kernelId",
                .write = [](const PublishedRow& row) { return std::to_string(row.algorithm); }},
    TableColumn{.name = "splitK", .write = [](const PublishedRow& row) { return std::to_string(row.split_k); }},
    TableColumn{.name = "us",
                .write = [](const PublishedRow& row) { return time_text(row.us); },
                .read = [](Cell cell, TableRow& row) { row.us = usable_time(cell); }},
    TableColumn{.name = "kernelName",
                .write = [](const PublishedRow& row) { return row.kernel_name; },
                .read = [](Cell cell, TableRow& row) { row.kernel_name = cell; }},
    TableColumn{.name = "errRatio",
                .other_name = "err_ratio",
                .write = [](const PublishedRow& row) { return fraction_text(row.err_ratio); },
                .read = [](Cell cell, TableRow& row) { row.err_ratio = fraction(cell); }},
    TableColumn{.name = "tflops",
                .write = [](const PublishedRow& row) { return fmt::format("{:.2f}", row.tflops); },
                .read = [](Cell cell, TableRow& row) { row.tflops = parse_double(cell); }},
    TableColumn{.name = "bw",
                .write = [](const PublishedRow& row) { return fmt::format("{:.2f}", row.bw); },
                .read = [](Cell cell, TableRow& row) { row.bw = parse_double(cell); }},
    TableColumn{.name = "device",
                .place = last,
                .write = [](const PublishedRow& row) { return row.model; },
                .read = [](Cell cell, TableRow& row) { row.device = cell; }},
    TableColumn{.name = "layout",
                .place = last,
                .write = [](const PublishedRow& row) { return row.layout; },
                .read = [](Cell cell, TableRow& row) { row.layout = cell; }},
    TableColumn{.name = "require",
                .place = last_if_needed,
                .write = [](const PublishedRow& row) { return std::string(text(row.require)); },
                .read = [](Cell cell, TableRow& row) { row.require = parse_requirement(cell); }},
    TableColumn{.name = "_tag", .place = read_only, .read = [](Cell cell, TableRow& row) { row.tag = cell; }},
};

/// The part whose column it is, and what it has there.
struct PartCell {
  enum class What : uint8_t { us, kernel_name, err_ratio };
  size_t part = 0;
  What what = What::us;
};
std::optional<PartCell> part_of(const FamilySpec& family, std::string_view column) {
  for (size_t i = 0; i < family.parts.size(); ++i) {
    const PartColumns& part = family.parts[i];
    if (equal_ignoring_case(part.us, column)) return PartCell{i, PartCell::What::us};
    if (equal_ignoring_case(part.kernel_name, column)) return PartCell{i, PartCell::What::kernel_name};
    if (equal_ignoring_case(part.err_ratio, column)) return PartCell{i, PartCell::What::err_ratio};
  }
  return std::nullopt;
}

std::string part_text(const PublishedRow& row, const PartCell& cell) {
  if (cell.part >= row.parts.size()) return {};
  const RowPart& part = row.parts[cell.part];
  switch (cell.what) {
    case PartCell::What::us:
      return part.us ? time_text(*part.us) : "";
    case PartCell::What::err_ratio:
      return part.err_ratio ? fraction_text(*part.err_ratio) : "";
    case PartCell::What::kernel_name:
      break;
  }
  return part.kernel_name;
}

}  // namespace

bool TableColumn::is_named(std::string_view text) const noexcept {
  return equal_ignoring_case(name, text) || (!other_name.empty() && equal_ignoring_case(other_name, text));
}

std::span<const TableColumn> table_columns() noexcept { return kColumns; }

bool is_column_of_all_families(std::string_view name) noexcept {
  return std::any_of(kColumns.begin(), kColumns.end(),
                     [&](const TableColumn& column) { return column.place != result && column.is_named(name); });
}

std::vector<std::string> new_table_header(const FamilySpec& family) {
  std::vector<std::string> header;
  for (const TableColumn& column : kColumns) {
    if (column.place == first) header.emplace_back(column.name);
  }
  for (const AttributeSpec& key : family.key) {
    if (!key.optional) header.emplace_back(key.column);
  }
  header.insert(header.end(), family.results.begin(), family.results.end());
  return header;
}

std::optional<std::string> table_cell(const FamilySpec& family, const PublishedRow& row, std::string_view column) {
  for (const AttributeSpec& key : family.key) {
    if (equal_ignoring_case(key.column, column)) return cell_text(family, key, key_value(row.problem, key));
  }
  for (const TableColumn& one : kColumns) {
    if (one.write != nullptr && one.is_named(column)) return one.write(row);
  }
  if (const auto cell = part_of(family, column)) return part_text(row, *cell);
  return std::nullopt;
}

bool read_part_cell(const FamilySpec& family, std::string_view column, std::string_view cell, TableRow& row) {
  const auto found = part_of(family, column);
  if (!found) return false;
  row.parts.resize(family.parts.size());
  RowPart& part = row.parts[found->part];
  switch (found->what) {
    case PartCell::What::us:
      part.us = usable_time(cell);
      break;
    case PartCell::What::kernel_name:
      part.kernel_name = cell;
      break;
    case PartCell::What::err_ratio:
      part.err_ratio = fraction(cell);
      break;
  }
  return true;
}

std::optional<int64_t> units_of(std::string_view cell) {
  if (cell.empty()) return 0;
  // Tools with missing values write `80.0`.
  const auto value = attribute_value(cell, ColumnKind::integer);
  const auto number = value ? parse_int(*value) : std::nullopt;
  return number && *number >= 0 ? number : std::nullopt;
}

std::string units_error(std::string_view cell) {
  return fmt::format("column 'cu_num' expects a whole number, got '{}'", shown(cell));
}

std::optional<double> usable_time(std::string_view text) noexcept {
  const auto us = parse_double(text);
  if (!us || !std::isfinite(*us) || *us < kShortest_us || *us > kLongest_us) return std::nullopt;
  return us;
}

std::string time_error(std::string_view cell) {
  return fmt::format("column 'us' expects a time in µs from {} to {}, got '{}'", kShortest_us, kLongest_us,
                     shown(cell));
}

}  // namespace attune
