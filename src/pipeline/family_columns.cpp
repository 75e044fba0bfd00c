// SPDX-License-Identifier: MIT
#include "pipeline/family_columns.h"

#include "formats/csv/table_columns.h"

namespace attune {

std::optional<size_t> place_of_column(const CsvDocument& document, std::string_view name) {
  if (const auto place = document.find_column(name)) return place;
  for (const TableColumn& column : table_columns()) {
    if (!column.is_named(name)) continue;
    if (const auto place = document.find_column(column.name)) return place;
    return column.other_name.empty() ? std::nullopt : document.find_column(column.other_name);
  }
  return std::nullopt;
}

std::vector<std::string> lacking_columns(const FamilySpec& family, const CsvDocument& document) {
  std::vector<std::string> lacking;
  for (std::string& name : new_table_header(family)) {
    if (!place_of_column(document, name)) lacking.push_back(std::move(name));
  }
  return lacking;
}

std::vector<std::string> lacking_key_columns(const FamilySpec& family, const CsvDocument& document) {
  std::vector<std::string> lacking;
  for (const AttributeSpec& key : family.key) {
    if (key.default_value.empty() && !document.find_column(key.column)) lacking.emplace_back(key.column);
  }
  return lacking;
}

}  // namespace attune
