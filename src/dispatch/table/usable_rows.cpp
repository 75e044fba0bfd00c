// SPDX-License-Identifier: MIT
#include "attune/usable_rows.h"

#include <fmt/format.h>

#include <map>

#include "base/error.h"
#include "formats/csv/key_cells.h"
#include "formats/csv/table.h"

namespace attune {
namespace {

Problem with_defaults(const FamilySpec& family, const Problem& problem) {
  std::vector<std::pair<std::string, std::string>> attributes;
  for (const AttributeSpec& key : family.key) attributes.emplace_back(key.name, key_value(problem, key));
  return {std::string(family.op), std::move(attributes)};
}

}  // namespace

std::vector<UsableRow> usable_rows(const std::filesystem::path& table, std::string_view op) {
  const FamilySpec* family = find_family(op);
  if (family == nullptr) fail(ErrorCode::invalid_input, "there is no op of this name: '{}'", op);
  std::vector<CsvDocument> documents;
  documents.push_back(CsvDocument::read(table));
  if (!documents.front().find_column("us"))
    fail(ErrorCode::invalid_input, "{}:1: the file has no column 'us', so it is not a tuned table", table.string());
  const Table rows = Table::of(std::move(documents), family, WrongRows::skipped);
  std::map<std::string, const TableRow*> best;
  std::vector<std::map<std::string, const TableRow*>::iterator> in_order;
  for (const TableRow& row : rows.rows()) {
    if (!row.us || !row.tag.empty()) continue;
    const auto [entry, is_new] = best.try_emplace(
        fmt::format("{} {} {}\n{}\n{}", row.gfx, row.num_units, key_text(*family, row.problem), row.device, row.layout),
        &row);
    if (is_new)
      in_order.push_back(entry);
    else if (row.rank(Requirement::none) < entry->second->rank(Requirement::none))
      entry->second = &row;
  }
  std::vector<UsableRow> found;
  for (const auto& entry : in_order) {
    const TableRow& row = *entry->second;
    found.push_back({with_defaults(*family, row.problem), row.gfx, row.num_units, row.device, row.layout,
                     row.kernel_name, *row.us});
  }
  return found;
}

}  // namespace attune
