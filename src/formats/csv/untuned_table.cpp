// SPDX-License-Identifier: MIT
#include "formats/csv/untuned_table.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "formats/csv/csv_document.h"
#include "formats/csv/key_cells.h"

namespace attune {
namespace {

/// Key columns that a list of these problems needs.
std::vector<const AttributeSpec*> columns_for(const FamilySpec& family, std::span<const Problem> problems) {
  std::vector<const AttributeSpec*> columns;
  for (const AttributeSpec& key : family.key) {
    const auto differs = [&](const Problem& problem) { return key_value(problem, key) != key.default_value; };
    if (!key.optional || std::any_of(problems.begin(), problems.end(), differs)) columns.push_back(&key);
  }
  return columns;
}

}  // namespace

std::string untuned_file_name(const FamilySpec& family) {
  std::string file(family.default_file);
  file.replace(file.find("tuned"), 5, "untuned");
  return file;
}

std::string untuned_text(const FamilySpec& family, std::span<const Problem> problems) {
  const auto columns = columns_for(family, problems);
  std::string text;
  const auto add_line = [&](auto&& cell) {
    for (const AttributeSpec* key : columns) text += (key == columns.front() ? "" : ",") + csv_cell(cell(*key));
    text += '\n';
  };
  add_line([](const AttributeSpec& key) { return std::string(key.column); });
  for (const Problem& problem : problems) {
    ATTUNE_CHECK(problem.op() == family.op, "a problem of {} cannot be in a list of {}", problem.op(), family.op);
    add_line([&](const AttributeSpec& key) { return cell_text(family, key, key_value(problem, key)); });
  }
  return text;
}

void check_untuned_output(const std::filesystem::path& path, const FamilySpec& family) {
  std::error_code missing;
  if (!std::filesystem::is_regular_file(path, missing) || std::filesystem::file_size(path, missing) == 0) return;
  const CsvDocument old = CsvDocument::read(path);
  const auto is_key = [&](const std::string& column) {
    return column.empty() || std::any_of(family.key.begin(), family.key.end(), [&](const AttributeSpec& key) {
             return equal_ignoring_case(key.column, column);
           });
  };
  if (std::all_of(old.columns().begin(), old.columns().end(), is_key)) return;
  fail(ErrorCode::invalid_input, "the file exists and is not a list of shapes of {}, name another: '{}'", family.op,
       shown(path.string(), 500));
}

}  // namespace attune
