// SPDX-License-Identifier: MIT
#include "report/document/diff_html.h"

#include <fmt/format.h>

#include "report/diff/changed_words.h"
#include "report/document/html_assets.h"
#include "report/document/markup.h"
#include "report/result_table.h"

namespace attune {
namespace {

std::string time_cell(const std::optional<double>& us) { return us ? fmt::format("{:.4f}", *us) : ""; }

void write_cell(Markup& page, const ChangedCell& cell) {
  page.open("div").text(cell.column + ": ");
  for (const ChangedWord& word : compare_words(cell.before, cell.after)) {
    if (word.is_same()) {
      page.text(word.after);
      continue;
    }
    if (!word.before.empty()) page.element("del", {}, word.before);
    if (!word.after.empty()) page.element("ins", {}, word.after);
  }
  page.close();
}

void write_row(Markup& page, const char* what, const RowChange& change) {
  page.open("tr").element("th", {{"scope", "row"}}, short_shape(change.problem));
  page.element("td", {}, what).element("td", {}, fmt::format("{}/{}", change.gfx, change.num_units));
  for (const std::string& number :
       {time_cell(change.old_us), time_cell(change.new_us), change.ratio ? fmt::format("{:.3f}×", *change.ratio) : ""})
    page.element("td", {{"class", "n"}}, number);
  page.open("td", {{"class", "w"}});
  for (const ChangedCell& cell : change.cells) write_cell(page, cell);
  page.close().close().line_end();
}

void write_table(Markup& page, const TableDiff& diff) {
  page.open("div",
            {{"class", "scroll table"}, {"tabindex", "0"}, {"role", "region"}, {"aria-labelledby", "rows-caption"}});
  page.open("table").element("caption", {{"id", "rows-caption"}}, "Rows that were removed, added or changed");
  page.open("thead").open("tr");
  for (const auto& [title, is_number] : {std::pair{"shape", false},
                                         {"what", false},
                                         {"device", false},
                                         {"before, µs", true},
                                         {"after, µs", true},
                                         {"speed-up", true},
                                         {"cells", false}})
    page.element("th", {{"scope", "col"}, {"class", is_number ? "n" : ""}}, title);
  page.close().close().open("tbody").line_end();
  for (const RowChange& change : diff.removed) write_row(page, "removed", change);
  for (const RowChange& change : diff.added) write_row(page, "added", change);
  for (const RowChange& change : diff.changed) write_row(page, "changed", change);
  page.close().close().close().line_end();
}

}  // namespace

std::string diff_html(const TableDiff& diff, std::string_view before, std::string_view after) {
  Markup page;
  page.literal("<!DOCTYPE html>\n").open("html", {{"lang", "en"}}).line_end().open("head").line_end();
  page.empty("meta", {{"charset", "utf-8"}}).line_end();
  page.empty("meta",
             {{"http-equiv", "Content-Security-Policy"},
              {"content", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"}});
  page.line_end();
  page.empty("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}}).line_end();
  page.element("title", {}, "Attune difference of tables").line_end();
  page.open("style").literal(kReportStyle);
  page.literal(
      "del{color:var(--bad)}ins{color:var(--good);font-weight:600;text-decoration:none}del+ins{margin-left:.25em}\n");
  page.close().close().line_end();
  page.open("body").open("header").element("h1", {}, "Attune: difference of tables");
  page.element("p", {{"class", "lead"}},
               fmt::format("{} added, {} changed, {} removed, {} the same", diff.added.size(), diff.changed.size(),
                           diff.removed.size(), diff.num_same));
  page.element("p", {{"class", "where"}}, fmt::format("Before: {}; after: {}", before, after)).close().line_end();
  page.open("main").open("section");
  if (diff.added.empty() && diff.changed.empty() && diff.removed.empty())
    page.element("p", {}, "The tables have the same rows.");
  else
    write_table(page, diff);
  page.close().close().close().close().line_end();
  return page.take();
}

}  // namespace attune
