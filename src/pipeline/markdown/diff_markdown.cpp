// SPDX-License-Identifier: MIT
#include "pipeline/markdown/diff_markdown.h"

#include <fmt/format.h>

#include "report/diff/changed_words.h"
#include "report/document/markdown_cell.h"
#include "report/result_table.h"

namespace attune {
namespace {

std::string marked(std::string_view text, std::string_view mark) {
  return text.empty() ? "" : fmt::format("{}{}{}", mark, markdown_cell(text), mark);
}

std::string replaced(std::string_view before, std::string_view after) {
  const std::string removed = marked(before, "~~"), added = marked(after, "**");
  return removed + (removed.empty() || added.empty() ? "" : " ") + added;
}

std::string time_cell(const std::optional<double>& us) { return us ? fmt::format("{:.4f}", *us) : ""; }

std::string line_of(char sign, const RowChange& change) {
  std::string cells;
  for (const ChangedCell& cell : change.cells)
    cells += fmt::format("{}{}: {}", cells.empty() ? "" : "<br>", markdown_cell(cell.column),
                         changed_words(cell.before, cell.after));
  return fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", sign, markdown_cell(short_shape(change.problem)),
                     markdown_cell(fmt::format("{}/{}", change.gfx, change.num_units)), time_cell(change.old_us),
                     time_cell(change.new_us), change.ratio ? fmt::format("{:.3f}×", *change.ratio) : "", cells);
}

}  // namespace

std::string changed_words(std::string_view before, std::string_view after) {
  std::string text;
  for (const ChangedWord& word : compare_words(before, after))
    text += word.is_same() ? markdown_cell(word.after) : replaced(word.before, word.after);
  return text;
}

std::string diff_markdown(const TableDiff& diff) {
  std::string text = fmt::format("{} added, {} changed, {} removed, {} the same.\n", diff.added.size(),
                                 diff.changed.size(), diff.removed.size(), diff.num_same);
  if (diff.added.empty() && diff.changed.empty() && diff.removed.empty()) return text;
  text += "\n| | shape | device | before, µs | after, µs | speed-up | cells |\n|---|---|---|---|---|---|---|\n";
  for (const RowChange& change : diff.removed) text += line_of('-', change);
  for (const RowChange& change : diff.added) text += line_of('+', change);
  for (const RowChange& change : diff.changed) text += line_of('~', change);
  return text;
}

}  // namespace attune
