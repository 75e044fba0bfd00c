// SPDX-License-Identifier: MIT
#include "pipeline/table_validation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/hash.h"
#include "formats/csv/key_cells.h"
#include "pipeline/checks.h"

namespace attune {
namespace {

constexpr std::array kChecks = {check_readable, check_cells,   check_duplicates, check_times,  check_rates,
                                check_errors,   check_kernels, check_reach,      check_padding};

/// Rows of a table that are held in memory at a time, roughly: 2 kB each.
constexpr size_t kPartRows = 8192;

/// The readable rows of a table in parts. Rows with one key and device are in one part.
struct TableParts {
  std::vector<std::vector<RowPlace>> parts;
  PaddedRows padded;
};

TableParts parts_of(const TableStream& table, FindingList& list) {
  size_t num_rows = 0;
  for (const CsvDocument& document : table.documents()) num_rows += document.num_rows();
  TableParts result{std::vector<std::vector<RowPlace>>(1 + num_rows / kPartRows), PaddedRows(table.family())};
  const auto take = [&](RowPlace place, const TableRow& row) {
    const auto key = fmt::format("{} {} {}", row.gfx, row.num_units, key_text(table.family(), row.problem));
    result.parts[hash128(key).low % result.parts.size()].push_back(place);
    result.padded.add(place, row);
  };
  table.for_each(take, [&](RowPlace place, const Error& error) {
    const CsvDocument& document = table.documents()[place.file];
    list.add(FindingKind::unreadable, place.file, document.line(place.row),
             without_place(error.what(), document.where(place.row)));
  });
  result.padded.sort();
  return result;
}

}  // namespace

std::vector<TableFinding> validate(const TableStream& table, const TableRules& rules) {
  FindingList list(table.documents());
  check_headers(table, list);
  const TableParts parts = parts_of(table, list);
  for (const std::vector<RowPlace>& rows : parts.parts) {
    const Table part = Table::of(table, rows);
    const TableInput input(part, parts.padded, rules);
    for (const auto check : kChecks) check(input, list);
  }
  std::map<std::string_view, size_t> order;
  for (const CsvDocument& document : table.documents()) order.emplace(document.name(), order.size());
  std::vector<TableFinding> findings = list.take();
  const auto place = [&](const TableFinding& one) { return std::tuple(order.at(one.file), one.line, one.kind); };
  std::stable_sort(findings.begin(), findings.end(),
                   [&](const TableFinding& one, const TableFinding& other) { return place(one) < place(other); });
  // Further findings of an unreadable row mean nothing. Its own finding is the first of its line.
  std::pair<std::string, size_t> unreadable;
  std::erase_if(findings, [&](const TableFinding& one) {
    if (one.kind != FindingKind::unreadable) return unreadable == std::pair(one.file, one.line);
    unreadable = {one.file, one.line};
    return false;
  });
  return findings;
}

}  // namespace attune
