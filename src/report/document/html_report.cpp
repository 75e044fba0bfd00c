// SPDX-License-Identifier: MIT
#include "report/document/html_report.h"

#include <fmt/format.h>

#include <string>

#include "base/clock.h"
#include "base/sha256.h"
#include "base/text.h"
#include "report/document/html_assets.h"
#include "report/document/markup.h"
#include "report/document/report_section.h"
#include "report/document/report_summary.h"

namespace attune {
namespace {

constexpr size_t kMaxHtmlCell = 600;

int hexadecimal(char digit) { return digit <= '9' ? digit - '0' : digit - 'a' + 10; }

/// The base64 form of a hash of 64 hexadecimal digits, as content security policies name scripts.
std::string base64_of_hash(const std::string& digits) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  uint32_t bits = 0;
  int num_bits = 0;
  for (const char digit : digits) {
    bits = (bits << 4 | static_cast<uint32_t>(hexadecimal(digit))) & 0xfff;
    num_bits += 4;
    if (num_bits < 6) continue;
    num_bits -= 6;
    text += kLetters[bits >> num_bits & 63];
  }
  if (num_bits > 0) text += kLetters[bits << (6 - num_bits) & 63];
  text.append((4 - text.size() % 4) % 4, '=');
  return text;
}

std::string time_text(int64_t at_ms) {
  if (at_ms <= 0) return "";
  std::string text = utc_time_text(at_ms).substr(0, 16);
  text[10] = ' ';
  return text;
}

/// A table's cell is a header of its row in the first column, so that readers by voice know where they are.
void write_table(Markup& page, const ReportSection& section) {
  const std::string caption_id = section.id + "-caption";
  page.open("div", {{"class", "scroll table"}, {"tabindex", "0"}, {"role", "region"}, {"aria-labelledby", caption_id}});
  page.open("table", {{"class", "sortable"}});
  page.element("caption", {{"id", caption_id}},
               fmt::format("{}: {}", section.title, counted(section.table.rows.size(), "row")));
  page.open("thead").open("tr");
  for (const ReportTable::Column& column : section.table.columns)
    page.element("th", {{"scope", "col"}, {"class", column.is_number ? "n" : ""}}, column.title);
  page.close().close().open("tbody").line_end();
  for (const std::vector<std::string>& row : section.table.rows) {
    page.open("tr");
    for (size_t i = 0; i < row.size(); ++i) {
      const bool is_number = section.table.columns[i].is_number;
      if (i == 0)
        page.open("th", {{"scope", "row"}});
      else if (is_number)
        page.open("td", {{"class", "n"}});
      else if (row[i].size() > 24)
        page.open("td", {{"class", "w"}});
      else
        page.open("td");
      page.text(row[i], kMaxHtmlCell).close();
    }
    page.close().line_end();
  }
  page.close().close().close().line_end();
}

void write_chart(Markup& page, const ReportSection& section) {
  if (std::holds_alternative<std::monostate>(section.chart)) return;
  page.open(
      "div",
      {{"class", "scroll drawing"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", "Chart: " + section.title}});
  std::visit(
      [&](const auto& chart) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(chart)>, std::monostate>) draw(page, chart);
      },
      section.chart);
  page.close().line_end();
}

void write_section(Markup& page, const ReportSection& section) {
  const std::string heading = section.id + "-heading";
  page.open("section", {{"id", section.id}, {"aria-labelledby", heading}});
  page.element("h2", {{"id", heading}}, section.title).element("p", {{"class", "note"}}, section.note).line_end();
  write_chart(page, section);
  if (section.is_table_first_class) {
    write_table(page, section);
  } else {
    page.open("details").element("summary", {}, "The numbers as a table");
    write_table(page, section);
    page.close();
  }
  page.close().line_end();
}

void write_figure(Markup& page, const char* tone, const std::string& label, const std::string& value,
                  const std::string& remark) {
  page.open("div", {{"class", tone}}).element("dt", {}, label).open("dd").text(value);
  if (!remark.empty()) page.element("small", {}, remark);
  page.close().close().line_end();
}

void write_figures(Markup& page, const ReportModel& model, const ReportSummary& summary) {
  page.open("dl", {{"class", "figures"}}).line_end();
  if (model.pipeline) {
    const uint64_t num_slower = summary.number(ReportVerdict::slower),
                   num_failed = summary.number(ReportVerdict::failed);
    write_figure(page, "", "Shapes compared", std::to_string(summary.num_compared),
                 fmt::format("{} faster, {} the same", summary.number(ReportVerdict::faster),
                             summary.number(ReportVerdict::same)));
    write_figure(page, summary.change_mean > 1.005 ? "good" : "", "New over old tables",
                 fmt::format("{:.3f}×", summary.change_mean), "geometric mean");
    write_figure(page, num_slower > 0 ? "bad" : "", "Slower", std::to_string(num_slower),
                 fmt::format("{} ambiguous", summary.number(ReportVerdict::ambiguous)));
    write_figure(
        page, num_failed + summary.num_failed_families > 0 ? "bad" : "", "Failed", std::to_string(num_failed),
        summary.num_failed_families > 0 ? fmt::format("and {} of the families", summary.num_failed_families) : "");
  }
  const uint64_t num_open = summary.num_unfinished + model.undecided.size();
  write_figure(page, "", "Shapes decided", std::to_string(summary.num_decided),
               num_open > 0 ? fmt::format("{} left undecided", num_open)
                            : fmt::format("{} faster than the default", summary.num_faster));
  write_figure(page, summary.mean > 1.005 ? "good" : "", "Geometric mean speed-up",
               summary.num_with_ratio > 0 ? fmt::format("{:.3f}×", summary.mean) : "unknown",
               summary.num_with_ratio > 0
                   ? fmt::format("95 %: {:.3f} – {:.3f}", summary.interval.low, summary.interval.high)
                   : "");
  write_figure(page, "", "Candidates tried", std::to_string(summary.num_candidates),
               fmt::format("in {}", format_duration(summary.seconds)));
  write_figure(page, "", "Failed candidates", std::to_string(summary.num_failures),
               summary.num_failures > 0 ? "left out, listed below" : "");
  page.close().line_end();
}

/// Where and when it was measured, in one line.
std::string place_text(const ReportModel& model) {
  if (model.runs.empty()) return model.decisions.empty() ? "" : "Device " + model.decisions.front().device;
  const ReportRun& last = model.runs.back();
  const std::string model_name = model.devices.size() == 1 ? model.devices.front().model + ", " : "";
  return fmt::format("{}{}; {}, {} to {} UTC; Attune {}", model_name, last.device, counted(model.num_runs, "run"),
                     time_text(model.runs.front().begun_ms), time_text(std::max(last.begun_ms, last.ended_ms)),
                     last.program_version);
}

void write_runs(Markup& page, const ReportModel& model) {
  ReportSection section{.id = "runs", .title = "Runs and environment", .is_table_first_class = true};
  section.note = "What measured, where and with which versions; the newest runs, if there are many.";
  section.table.columns = {{"run", true}, {"began (UTC)"}, {"ended"},   {"ending"},
                           {"command"},   {"device"},      {"versions"}};
  for (const ReportRun& run : model.runs) {
    std::string versions;
    for (const auto& [name, version] : run.versions)
      versions += fmt::format("{}{} {}", versions.empty() ? "" : ", ", name, version);
    section.table.rows.push_back({std::to_string(run.number), time_text(run.begun_ms), time_text(run.ended_ms),
                                  run.ending.empty() ? "without an end" : run.ending, run.command,
                                  run.description.empty() ? run.device : run.description, versions});
  }
  if (!section.table.rows.empty()) write_section(page, section);
}

void write_failed_families(Markup& page, const ReportModel& model) {
  if (!model.pipeline) return;
  ReportSection section{.id = "families", .title = "Families", .is_table_first_class = true};
  section.note =
      "Rows of each family's default table that changed, findings of `attune ci validate`, and why a family failed.";
  section.table.columns = {{"family"},        {"device"},         {"added", true},    {"changed", true},
                           {"removed", true}, {"the same", true}, {"findings", true}, {"failure"}};
  for (const ReportFamily& one : model.pipeline->families)
    section.table.rows.push_back({one.family, one.device, std::to_string(one.num_added),
                                  std::to_string(one.num_changed), std::to_string(one.num_removed),
                                  std::to_string(one.num_same), std::to_string(one.num_findings),
                                  one.failure.empty() && !one.is_done ? "not finished" : one.failure});
  if (!section.table.rows.empty()) write_section(page, section);
}

void write_head(Markup& page) {
  static const std::string kPolicy = fmt::format(
      "default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
      base64_of_hash(sha256(kReportScript)));
  page.open("head").line_end();
  page.empty("meta", {{"charset", "utf-8"}}).line_end();
  page.empty("meta", {{"http-equiv", "Content-Security-Policy"}, {"content", kPolicy}}).line_end();
  page.empty("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}}).line_end();
  page.element("title", {}, "Attune report").line_end();
  page.open("style").literal(kReportStyle).close().close().line_end();
}

}  // namespace

std::string html_text(const ReportModel& model) {
  const ReportSummary summary = summarise(model);
  const std::vector<ReportSection> sections = sections_of(model);
  Markup page;
  page.literal("<!DOCTYPE html>\n").open("html", {{"lang", "en"}}).line_end();
  write_head(page);
  page.open("body").element("a", {{"class", "skip"}, {"href", "#results"}}, "To the results").line_end();
  page.open("header").element("h1", {}, model.pipeline ? "Attune: tuning pipeline" : "Attune: tuning report");
  page.element("p", {{"class", "lead"}}, headline(model, summary));
  page.element("p", {{"class", "where"}}, place_text(model)).line_end();
  write_figures(page, model, summary);
  page.open("nav", {{"aria-label", "Sections"}}).open("ul");
  for (const ReportSection& section : sections)
    page.open("li").element("a", {{"href", "#" + section.id}}, section.title).close();
  page.close().close().close().line_end();
  page.open("main", {{"id", "results"}}).line_end();
  for (const ReportSection& section : sections) write_section(page, section);
  write_failed_families(page, model);
  write_runs(page, model);
  page.close().line_end();
  page.open("footer").open("p").text(fmt::format("{} read.", counted(model.num_records, "record")));
  if (model.num_damaged > 0)
    page.text(fmt::format(" {} of the journal cannot be read.", counted(model.num_damaged, "entry")));
  page.close().close().line_end();
  page.open("script").literal(kReportScript).close().close().close().line_end();
  return page.take();
}

}  // namespace attune
