// SPDX-License-Identifier: MIT
#include "pipeline/table_validation.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "pipeline/checks.h"

namespace attune {
namespace {

constexpr std::array kChecks = {check_readable, check_columns, check_duplicates, check_times,  check_rates,
                                check_errors,   check_kernels, check_reach,      check_padding};

}  // namespace

std::vector<TableFinding> validate(const Table& table, const TableRules& rules) {
  const TableInput input(table, rules);
  FindingList list(table);
  for (const auto check : kChecks) check(input, list);
  std::map<std::string_view, size_t> order;
  for (const CsvDocument& document : table.documents()) order.emplace(document.name(), order.size());
  std::vector<TableFinding> findings = list.take();
  const auto place = [&](const TableFinding& one) { return std::tuple(order.at(one.file), one.line, one.kind); };
  std::stable_sort(findings.begin(), findings.end(),
                   [&](const TableFinding& one, const TableFinding& other) { return place(one) < place(other); });
  // What else a row lacks that cannot be read says nothing. Its own finding is the first of its line.
  const TableFinding* unreadable = nullptr;
  std::vector<TableFinding> kept;
  kept.reserve(findings.size());
  for (const TableFinding& one : findings) {
    if (one.kind == FindingKind::unreadable)
      unreadable = &one;
    else if (unreadable != nullptr && unreadable->file == one.file && unreadable->line == one.line)
      continue;
    kept.push_back(one);
  }
  return kept;
}

}  // namespace attune
