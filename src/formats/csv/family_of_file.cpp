// SPDX-License-Identifier: MIT
#include "formats/csv/family_of_file.h"

#include <algorithm>
#include <filesystem>
#include <iterator>

#include "base/error.h"
#include "base/text.h"
#include "formats/csv/table_columns.h"

namespace attune {
namespace {

bool is_key_column(const FamilySpec& family, std::string_view column) {
  return std::any_of(family.key.begin(), family.key.end(),
                     [&](const AttributeSpec& key) { return equal_ignoring_case(key.column, column); });
}

bool is_result_column(const FamilySpec& family, std::string_view column) {
  return std::any_of(family.results.begin(), family.results.end(),
                     [&](std::string_view name) { return equal_ignoring_case(name, column); });
}

/// Key columns without a default that the file lacks; none if the family can be read from it.
std::vector<std::string> missing_columns(const FamilySpec& family, const CsvDocument& document) {
  std::vector<std::string> missing;
  for (const AttributeSpec& key : family.key) {
    if (key.default_value.empty() && !document.find_column(key.column)) missing.emplace_back(key.column);
  }
  return missing;
}

/// Number of letters of the stem if all its words are in the file's name, else 0.
size_t stem_length(const FamilySpec& family, const std::string& lower_name) {
  size_t length = 0;
  for (const auto word : split(family.stem, ' ')) {
    if (lower_name.find(word) == std::string::npos) return 0;
    length += word.size();
  }
  return length;
}

std::string lower_file_name(std::string_view name) { return to_lower(std::filesystem::path(name).filename().string()); }

/// The columns before the results of a tuned table that the family does not know. They belong to the key, so one of
/// them means another family, however well the rest fits.
std::vector<std::string> unknown_key_columns(const FamilySpec& family, const CsvDocument& document) {
  const auto& columns = document.columns();
  const auto result = std::find_if(columns.begin(), columns.end(),
                                   [&](const auto& column) { return is_result_column(family, column); });
  std::vector<std::string> unknown;
  if (result == columns.end()) return unknown;  // untuned: additional columns are the author's notes
  std::copy_if(columns.begin(), result, std::back_inserter(unknown), [&](const auto& column) {
    return !is_column_of_all_families(column) && !is_key_column(family, column);
  });
  return unknown;
}

bool key_is_understood(const FamilySpec& family, const CsvDocument& document) {
  return unknown_key_columns(family, document).empty();
}

size_t num_known_columns(const FamilySpec& family, const CsvDocument& document) {
  const auto& columns = document.columns();
  return static_cast<size_t>(std::count_if(columns.begin(), columns.end(), [&](const auto& column) {
    return is_key_column(family, column) || is_result_column(family, column);
  }));
}

/// Key columns of the file that all tables of the family have: an optional one says less.
size_t num_certain_columns(const FamilySpec& family, const CsvDocument& document) {
  return static_cast<size_t>(std::ranges::count_if(family.key, [&](const AttributeSpec& key) {
    return !key.optional && document.find_column(key.column).has_value();
  }));
}

/// True if M, N and K are the only columns known to any family.
bool is_bare(const CsvDocument& document) {
  for (const std::string& column : document.columns()) {
    if (equal_ignoring_case(column, "M") || equal_ignoring_case(column, "N") || equal_ignoring_case(column, "K"))
      continue;
    for (const FamilySpec& family : families()) {
      if (is_key_column(family, column) || is_result_column(family, column)) return false;
    }
  }
  return true;
}

std::string op_list(std::span<const FamilySpec* const> some) {
  std::vector<std::string> names;
  for (const FamilySpec* family : some) names.emplace_back(family->op);
  return join(names, ", ");
}

/// The families with the largest nonzero value.
template <typename Value>
std::vector<const FamilySpec*> best_by(std::span<const FamilySpec* const> some, Value value) {
  size_t max_own = 1;
  std::vector<const FamilySpec*> best;
  for (const FamilySpec* family : some) {
    const size_t own = value(*family);
    if (own > max_own) best.clear();
    if (own >= max_own) best.push_back(family);
    max_own = std::max(max_own, own);
  }
  return best;
}

std::vector<const FamilySpec*> serving(const CsvDocument& document) {
  std::vector<const FamilySpec*> some;
  for (const FamilySpec& family : families()) {
    if (missing_columns(family, document).empty()) some.push_back(&family);
  }
  return some;
}

const FamilySpec* checked_family(const FamilySpec& family, const CsvDocument& document) {
  const auto missing = missing_columns(family, document);
  if (missing.empty()) return &family;
  fail(ErrorCode::invalid_input, "{}: a table of {} needs the column '{}', the file has: {}", document.header_place(),
       family.op, join(missing, "', '"), document.column_list());
}

/// `; gemm_a16w16 would need K too`, for the nearest family that has at least two columns in the file.
std::string nearest_family(const CsvDocument& document) {
  const auto num_present = [&](const FamilySpec& family) {
    return static_cast<size_t>(std::count_if(family.key.begin(), family.key.end(), [&](const AttributeSpec& key) {
      return key.default_value.empty() && document.find_column(key.column).has_value();
    }));
  };
  const FamilySpec* nearest = nullptr;
  for (const FamilySpec& family : families()) {
    const auto better = [&](const FamilySpec& other) {
      const size_t lacks = missing_columns(family, document).size(),
                   other_lacks = missing_columns(other, document).size();
      return lacks != other_lacks ? lacks < other_lacks
                                  : num_known_columns(family, document) > num_known_columns(other, document);
    };
    if (num_present(family) >= 2 && (!nearest || better(*nearest))) nearest = &family;
  }
  const auto missing = nearest ? missing_columns(*nearest, document) : std::vector<std::string>();
  return missing.empty() ? "" : fmt::format("; {} would need {} too", nearest->op, join(missing, ", "));
}

}  // namespace

const FamilySpec* better_family(const FamilySpec& family, const CsvDocument& document) {
  const bool fits = missing_columns(family, document).empty() && key_is_understood(family, document);
  size_t max_known = fits ? num_known_columns(family, document) : 0;
  const FamilySpec* best = nullptr;
  for (const FamilySpec* other : serving(document)) {
    const size_t known = num_known_columns(*other, document);
    if (known <= max_known || !key_is_understood(*other, document)) continue;
    max_known = known;
    best = other;
  }
  if (best == nullptr) checked_family(family, document);
  return best == &family ? nullptr : best;
}

bool is_shape_table(const CsvDocument& document) {
  return std::ranges::any_of(families(), [&](const FamilySpec& family) {
    return std::ranges::count_if(
               family.key, [&](const AttributeSpec& key) { return document.find_column(key.column).has_value(); }) >= 2;
  });
}

const FamilySpec* family_of_name(std::string_view file_name) {
  std::vector<const FamilySpec*> all;
  for (const FamilySpec& family : families()) all.push_back(&family);
  const auto name = lower_file_name(file_name);
  const auto best = best_by(all, [&](const FamilySpec& family) { return stem_length(family, name); });
  return best.size() == 1 ? best.front() : nullptr;
}

FamilyOfFile family_of_file(const CsvDocument& document, std::string_view op) {
  if (!op.empty()) {
    if (const FamilySpec* family = find_family(op)) return {checked_family(*family, document), {}};
    std::vector<const FamilySpec*> all;
    for (const FamilySpec& family : families()) all.push_back(&family);
    fail(ErrorCode::invalid_input, "unknown family, use one of {}: '{}'", op_list(all), op);
  }
  const auto possible = serving(document);
  const auto name = lower_file_name(document.name());
  auto named = best_by(possible, [&](const FamilySpec& family) { return stem_length(family, name); });
  if (named.size() == 1) return {named.front(), {}};
  // The name is no clue, or fits two families equally (`bf16` and `fmoe`), so the columns decide.
  if (named.empty() && is_bare(document) && !possible.empty()) {
    return {
        checked_family(default_family(), document),
        {fmt::format("{}: neither the name nor the columns identify the family; bare M, N, K are read as {}; choose "
                     "another with --op",
                     document.name(), default_family().op)}};
  }
  std::vector<const FamilySpec*> understood;
  for (const FamilySpec* family : named.empty() ? possible : named) {
    if (key_is_understood(*family, document)) understood.push_back(family);
  }
  const auto known = best_by(understood, [&](const FamilySpec& family) { return num_known_columns(family, document); });
  const auto best = best_by(known, [&](const FamilySpec& family) { return num_certain_columns(family, document); });
  if (best.size() == 1) return {best.front(), {}};
  if (best.empty() && possible.size() == 1) {
    fail(ErrorCode::invalid_input,
         "{}: this is a table of {} whose key has more columns than this version knows, so its rows cannot be told "
         "apart and are not read: {}",
         document.header_place(), possible.front()->op,
         shown(join(unknown_key_columns(*possible.front(), document), ", "), 400));
  }
  if (best.empty()) {
    fail(ErrorCode::invalid_input,
         "{}: unknown family, name one that Attune knows with --op; the file has the columns: "
         "{}{}",
         document.header_place(), document.column_list(), nearest_family(document));
  }
  fail(ErrorCode::invalid_input,
       "{}: the columns fit several families ({}), name one with --op; the file has the columns: {}",
       document.header_place(), op_list(best), document.column_list());
}

}  // namespace attune
