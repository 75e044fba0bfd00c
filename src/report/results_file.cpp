// SPDX-License-Identifier: MIT
#include "report/results_file.h"

#include <algorithm>

#include "base/text.h"
#include "formats/csv/published_row.h"
#include "formats/csv/table_columns.h"
#include "formats/tune_gemm/tune_gemm.h"

namespace attune {
namespace {

PublishedRow row_of(const TuneGemmEntry& entry) {
  PublishedRow row{.problem = entry.problem, .kernel_name = kernel_of(entry)};
  const auto slash = entry.device.rfind('/');
  row.gfx = entry.device.substr(0, slash);
  if (slash != std::string::npos) row.num_units = parse_int(entry.device.substr(slash + 1)).value_or(0);
  row.us = entry.us.value_or(0);
  row.tflops = entry.tflops.value_or(0);
  return row;
}

/// Returns the unique keys that are no columns of a table.
std::vector<std::string> parameters_of(const std::vector<TuneGemmEntry>& entries,
                                       const std::vector<std::string>& columns) {
  std::vector<std::string> names;
  for (const TuneGemmEntry& entry : entries) {
    for (const auto& [key, value] : entry.parameters) {
      const auto is_key = [&](const std::string& one) { return equal_ignoring_case(one, key); };
      if (std::none_of(columns.begin(), columns.end(), is_key) && std::none_of(names.begin(), names.end(), is_key))
        names.push_back(key);
    }
  }
  return names;
}

std::string parameter_of(const TuneGemmEntry& entry, const std::string& name) {
  const auto found = std::find_if(entry.parameters.begin(), entry.parameters.end(),
                                  [&](const auto& parameter) { return parameter.first == name; });
  return found == entry.parameters.end() ? "" : found->second;
}

std::string cell_of(const FamilySpec& family, const TuneGemmEntry& entry, const std::string& column) {
  const bool is_missing = (column == "us" && !entry.us) || (column == "tflops" && !entry.tflops);
  return is_missing ? "" : table_cell(family, row_of(entry), column).value_or("");
}

}  // namespace

TableStream read_yaml_results(const std::string& file) {
  const FamilySpec& family = *find_family("gemm_a16w16");
  const auto entries = read_tune_gemm_results(file);
  std::vector<std::string> columns = {"gfx", "cu_num"};
  for (const AttributeSpec& key : family.key) columns.emplace_back(key.column);
  columns.insert(columns.end(), {"us", "kernelName", "tflops"});
  const auto parameters = parameters_of(entries, columns);
  std::string text = join(columns, ",");
  for (const std::string& name : parameters) text += "," + csv_cell(name);
  for (const TuneGemmEntry& entry : entries) {
    std::vector<std::string> cells;
    for (const std::string& column : columns) cells.push_back(csv_cell(cell_of(family, entry, column)));
    for (const std::string& name : parameters) cells.push_back(csv_cell(parameter_of(entry, name)));
    text += "\n" + join(cells, ",");
  }
  std::vector<CsvDocument> documents;
  documents.push_back(CsvDocument::parse(text, file));
  return TableStream(std::move(documents), &family);
}

}  // namespace attune
