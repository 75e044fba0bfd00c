// SPDX-License-Identifier: MIT
#include "pipeline/run/shape_choice.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/csv/csv_document.h"
#include "formats/csv/shape_list.h"
#include "process/temporary_folder.h"

namespace attune {
namespace {

/// The problems of the list at the commit; none if the list could not be read then.
std::set<std::string> earlier_problems(const FamilySpec& family, const std::string& name, const GitHistory& history) {
  const auto text = history.file(name);
  if (!text) return {};
  const TemporaryFolder folder("list");
  write_file_atomically(folder.path() / name, *text + "\n");
  std::set<std::string> keys;
  try {
    const ShapeList list =
        read_shapes(folder.path() / name, {.op = std::string(family.op), .settings = {}, .max_rows = {}});
    for (const Shape& shape : list.shapes) keys.insert(shape.problem.key());
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_input) throw;
  }
  return keys;
}

}  // namespace

ShapeChoice parse_shape_choice(std::string_view only, std::string since) {
  ShapeChoice choice{.since = std::move(since)};
  const auto pieces = only.empty() ? std::vector<std::string_view>() : split(only, ',');
  for (const std::string_view piece : pieces) {
    const std::string_view word = trim(piece);
    if (word == "changed")
      choice.changed = true;
    else if (word == "stale")
      choice.stale = true;
    else
      fail(ErrorCode::invalid_input, "--only takes changed, stale or both with a comma between them: '{}'",
           shown(word));
  }
  if (!choice.since.empty() && !choice.changed)
    fail(ErrorCode::invalid_input, "--since needs --only changed, whose commit it is: '{}'", shown(choice.since));
  return choice;
}

std::optional<std::string> chosen_rows(const FamilySpec& family, const std::filesystem::path& list,
                                       const GitHistory* history, const StaleCheck& is_stale) {
  const ShapeList all = read_shapes(list, {.op = std::string(family.op), .settings = {}, .max_rows = {}});
  std::vector<bool> is_chosen(all.shapes.size(), false);
  if (is_stale) {
    std::vector<Problem> problems;
    for (const Shape& shape : all.shapes) problems.push_back(shape.problem);
    is_chosen = is_stale(problems);
  }
  if (history != nullptr) {
    const auto earlier = earlier_problems(family, list.filename().string(), *history);
    for (size_t i = 0; i < all.shapes.size(); ++i)
      is_chosen[i] = is_chosen[i] || !earlier.contains(all.shapes[i].problem.key());
  }
  std::set<size_t> lines;
  for (size_t i = 0; i < all.shapes.size(); ++i) {
    if (is_chosen[i]) lines.insert(all.shapes[i].line);
  }
  if (lines.empty()) return std::nullopt;
  const CsvDocument document = CsvDocument::read(list);
  std::string text(document.head());
  for (size_t row = 0; row < document.num_rows(); ++row) {
    if (!lines.contains(document.line(row))) continue;
    text += document.raw(row);
    if (!text.ends_with('\n')) text += document.line_end();
  }
  return text;
}

}  // namespace attune
