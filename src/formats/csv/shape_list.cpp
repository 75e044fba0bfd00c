// SPDX-License-Identifier: MIT
#include "formats/csv/shape_list.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "formats/csv/csv_document.h"
#include "formats/csv/family_of_file.h"
#include "formats/csv/key_cells.h"
#include "formats/csv/table_columns.h"

namespace attune {
namespace {

const KeyColumn* find_key(const FamilySpec& family, std::string_view attribute) {
  const auto found = std::find_if(family.key.begin(), family.key.end(),
                                  [&](const KeyColumn& key) { return key.attribute == attribute; });
  return found == family.key.end() ? nullptr : &*found;
}

/// Values set by the command line, by attribute. A setting without an attribute in the family is an error, never
/// ignored.
std::vector<std::pair<std::string, std::string>> overrides(const FamilySpec& family, const ShapeOptions& options) {
  std::vector<std::pair<std::string, std::string>> set;
  const auto add = [&](std::string_view flag, std::string_view attribute, std::string value) {
    if (!find_key(family, attribute)) {
      fail(ErrorCode::invalid_input, "{} has no meaning for the family {}, omit it", flag, family.op);
    }
    set.emplace_back(attribute, std::move(value));
  };
  const auto flag_text = [](bool value) { return std::string(value ? "1" : "0"); };
  if (options.indtype)
    add("--indtype", find_key(family, "dtype") ? "dtype" : "q_dtype_w", std::string(name(*options.indtype)));
  if (options.outdtype) add("--outdtype", "outdtype", std::string(name(*options.outdtype)));
  if (options.bias) add("--bias", "bias", flag_text(*options.bias));
  if (options.trans_a) add("--trans_a", "trans_a", flag_text(*options.trans_a));
  if (options.trans_b) add("--trans_b", "trans_b", flag_text(*options.trans_b));
  return set;
}

constexpr size_t kMaxListed = 400;  // characters

/// Reports ignored columns that a user might expect to matter.
void note_surplus(const CsvDocument& document, const FamilySpec& family, std::vector<std::string>& notices) {
  std::vector<std::string> surplus;
  for (const std::string& column : document.columns()) {
    const auto is = [&](std::string_view name) { return equal_ignoring_case(name, column); };
    const bool known =
        column.empty() || is_column_of_all_families(column) ||
        std::any_of(family.key.begin(), family.key.end(), [&](const KeyColumn& key) { return is(key.column); }) ||
        std::any_of(family.results.begin(), family.results.end(), is);
    if (!known) surplus.push_back(shown(column));
  }
  if (!surplus.empty())
    notices.push_back(fmt::format("{}: columns that {} does not have are ignored: {}", document.name(), family.op,
                                  shown(join(surplus, ", "), kMaxListed)));
}

void note_defaults(const KeyCells& cells, const CsvDocument& document, const FamilySpec& family,
                   const ShapeOptions& options, std::vector<std::string>& notices) {
  for (const std::string_view attribute : {"dtype", "q_dtype_w"}) {
    const KeyColumn* key = find_key(family, attribute);
    if (!key || key->default_value.empty() || cells.has(attribute) || options.indtype) continue;
    notices.push_back(fmt::format("{}: there is no column '{}', using {}; choose another with --indtype",
                                  document.name(), key->column, key->default_value));
  }
}

Problem with_overrides(Problem problem, const FamilySpec& family,
                       const std::vector<std::pair<std::string, std::string>>& set, bool outdtype_follows) {
  for (const auto& [attribute, value] : set) {
    const KeyColumn& key = *find_key(family, attribute);
    if (key.optional && value == key.default_value && !problem.has(attribute)) continue;
    problem = problem.with(attribute, value);
    if (attribute == "dtype" && outdtype_follows) problem = problem.with("outdtype", value);
  }
  return problem;
}

}  // namespace

ShapeList read_shapes(const std::filesystem::path& path, const ShapeOptions& options) {
  const auto document = CsvDocument::read(path);
  auto [family, notices] = family_of_file(document, options.op);
  const KeyCells cells(document, *family, Strictness::shape);
  const auto set = overrides(*family, options);
  const bool outdtype_follows =
      options.indtype && !options.outdtype && !cells.has("outdtype") && find_key(*family, "outdtype");
  const std::string_view rows_of_a = family->op == "fmoe" ? "token" : "m";

  ShapeList list{family, {}, std::move(notices)};
  note_defaults(cells, document, *family, options, list.notices);
  note_surplus(document, *family, list.notices);
  std::set<std::string> seen;
  size_t num_repeated = 0, num_large = 0;
  std::string first_repeated;
  for (size_t row = 0; row < document.num_rows(); ++row) {
    document.check_cells(row);
    Problem problem = with_overrides(cells.problem(row), *family, set, outdtype_follows);
    if (options.max_m && problem.integer(rows_of_a) > *options.max_m) {
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
                                       counted(num_large, "shape"), *options.max_m));
  return list;
}

}  // namespace attune
