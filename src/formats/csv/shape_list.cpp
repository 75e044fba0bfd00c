// SPDX-License-Identifier: MIT
#include "formats/csv/shape_list.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "formats/csv/family_of_file.h"
#include "formats/csv/key_cells.h"
#include "formats/csv/table_columns.h"

namespace attune {
namespace {

constexpr size_t kMaxListed = 400;  // characters

/// Reports ignored columns that a user might expect to matter.
void note_surplus(const CsvDocument& document, const FamilySpec& family, std::vector<std::string>& notices) {
  std::vector<std::string> surplus;
  for (const std::string& column : document.columns()) {
    const auto is = [&](std::string_view name) { return equal_ignoring_case(name, column); };
    const bool known =
        column.empty() || is_column_of_all_families(column) ||
        std::any_of(family.key.begin(), family.key.end(), [&](const AttributeSpec& key) { return is(key.column); }) ||
        std::any_of(family.results.begin(), family.results.end(), is);
    if (!known) surplus.push_back(shown(column));
  }
  if (!surplus.empty())
    notices.push_back(fmt::format("{}: columns that {} does not have are ignored: {}", document.name(), family.op,
                                  shown(join(surplus, ", "), kMaxListed)));
}

void note_defaults(const KeyCells& cells, const CsvDocument& document, const FamilySpec& family,
                   const std::vector<std::pair<std::string, std::string>>& set, std::vector<std::string>& notices) {
  for (const AttributeSpec& key : family.key) {
    const bool is_set = std::any_of(set.begin(), set.end(), [&](const auto& one) { return one.first == key.name; });
    if (key.kind != ColumnKind::dtype || key.optional || !key.follows.empty() || key.default_value.empty() || is_set ||
        cells.has(key.name))
      continue;
    notices.push_back(fmt::format("{}: there is no column '{}', using {}; choose another with --indtype",
                                  document.name(), key.column, key.default_value));
  }
}

/// `followers`: columns that neither the file nor a setting states.
Problem with_overrides(Problem problem, const FamilySpec& family,
                       const std::vector<std::pair<std::string, std::string>>& set,
                       std::span<const AttributeSpec* const> followers) {
  for (const auto& [attribute, value] : set) {
    const AttributeSpec& key = *find_column(family, attribute);
    if (key.omits(value) && !problem.has(attribute)) continue;
    problem = problem.with(attribute, value);
    for (const AttributeSpec* follower : followers) {
      if (follower->follows == attribute) problem = problem.with(follower->name, value);
    }
  }
  return problem;
}

}  // namespace

ShapeList read_shapes(const std::filesystem::path& path, const ShapeOptions& options) {
  return read_shapes(CsvDocument::read(path), options);
}

ShapeList read_shapes(const CsvDocument& document, const ShapeOptions& options) {
  auto [family, notices] = family_of_file(document, options.op);
  const KeyCells cells(document, *family, Strictness::shape);
  const auto set = values_of(*family, options.settings);
  std::vector<const AttributeSpec*> followers;
  for (const AttributeSpec& key : family->key) {
    const bool is_stated = find_setting(options.settings, key.name) != nullptr || cells.has(key.name);
    if (!key.follows.empty() && !is_stated) followers.push_back(&key);
  }

  ShapeList list{family, {}, std::move(notices)};
  note_defaults(cells, document, *family, set, list.notices);
  note_surplus(document, *family, list.notices);
  std::set<std::string> seen;
  size_t num_repeated = 0, num_large = 0;
  std::string first_repeated;
  for (size_t row = 0; row < document.num_rows(); ++row) {
    document.check_cells(row);
    Problem problem = with_overrides(cells.problem(row), *family, set, followers);
    if (options.max_rows && rows_of(problem).value_or(0) > *options.max_rows) {
      ++num_large;
    } else if (!seen.insert(problem.key()).second) {
      if (num_repeated++ == 0) first_repeated = document.where(row);
    } else {
      list.shapes.push_back({std::move(problem), document.line(row)});
    }
  }
  if (num_repeated > 0)
    list.notices.push_back(fmt::format("{}: {} skipped, each shape is tuned once; the first is {}", document.name(),
                                       counted(num_repeated, "repetition"), first_repeated));
  if (num_large > 0)
    list.notices.push_back(fmt::format("{}: {} with more than {} rows skipped (--max-m)", document.name(),
                                       counted(num_large, "shape"), *options.max_rows));
  return list;
}

}  // namespace attune
