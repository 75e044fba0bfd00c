// SPDX-License-Identifier: MIT
#include "report/document/markdown_report.h"

#include <fmt/format.h>

#include <cctype>
#include <string_view>

#include "base/text.h"
#include "report/document/markdown_cell.h"
#include "report/document/markup.h"
#include "report/document/report_section.h"
#include "report/document/report_summary.h"

namespace attune {
namespace {

void add_table(std::string& text, const ReportTable& table) {
  std::string rule = "|";
  text += "|";
  for (const ReportTable::Column& column : table.columns) {
    text += fmt::format(" {} |", markdown_cell(column.title));
    rule += column.is_number ? "---:|" : "---|";
  }
  text += "\n" + rule + "\n";
  for (const std::vector<std::string>& row : table.rows) {
    text += "|";
    for (const std::string& one : row) text += fmt::format(" {} |", markdown_cell(one));
    text += "\n";
  }
}

void add_section(std::string& text, const ReportSection& section) {
  if (section.table.rows.empty()) return;
  text += fmt::format("\n## {}\n\n", section.title);
  add_table(text, section.table);
}

void add_families(std::string& text, const ReportPipeline& pipeline) {
  for (const ReportFamily& family : pipeline.families) {
    text += fmt::format("\n## {}\n\n", markdown_cell(family.family));
    if (!family.failure.empty()) text += fmt::format("Failed: {}\n\n", markdown_cell(family.failure));
    text +=
        fmt::format("Rows: {} added, {} changed, {} removed, {} the same. Findings in the tables as they were: {}.\n",
                    family.num_added, family.num_changed, family.num_removed, family.num_same, family.num_findings);
    if (family.changes.empty()) continue;
    ReportModel one;
    one.pipeline = ReportPipeline{.families = {family}};
    text += "\n";
    add_table(text, change_section(one).table);
  }
}

}  // namespace

std::string markdown_text(const ReportModel& model) {
  std::string text = fmt::format("# Attune: tuning\n\n{}\n", headline(model, summarise(model)));
  if (model.pipeline) add_families(text, *model.pipeline);
  add_section(text, decision_section(model));
  add_section(text, undecided_section(model));
  add_section(text, failure_section(model));
  if (!model.runs.empty()) {
    const ReportRun& last = model.runs.back();
    text += fmt::format("\nMeasured on {} by Attune {}.\n",
                        markdown_cell(last.description.empty() ? last.device : last.description),
                        markdown_cell(last.program_version));
  }
  if (text.size() <= kMaxMarkdownBytes) return text;
  const std::string cut = "\nCut at 900 KB; results.json and the HTML report have all.\n";
  text.resize(text.rfind('\n', kMaxMarkdownBytes - cut.size() - 1) + 1);
  return text + cut;
}

}  // namespace attune
