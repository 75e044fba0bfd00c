// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "report/document/chart/chart.h"
#include "report/document/model.h"

namespace attune {

/// Cells as texts from anywhere; renderers make them safe.
struct ReportTable {
  struct Column {
    std::string title;
    bool is_number = false;  ///< Aligned at the right, sorted as a number.
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

using Chart = std::variant<std::monostate, BarChart, ScatterChart, StepChart, StackedChart>;

/// A part of a report: a chart, if there is one, and the table with its data.
struct ReportSection {
  std::string id, title, note;  ///< `note`: how to read it, in full sentences.
  Chart chart;
  ReportTable table;
  bool is_table_first_class = false;  ///< The table tells more than the chart and is always shown.
};

/// The parts of a report in their order, without parts that have no data. Pure. O(n log n).
std::vector<ReportSection> sections_of(const ReportModel& model);

// One part each; without rows in the table there is nothing to show.
ReportSection change_section(const ReportModel& model);
ReportSection decision_section(const ReportModel& model);
ReportSection roofline_section(const ReportModel& model);
ReportSection winner_section(const ReportModel& model);
ReportSection progress_section(const ReportModel& model);
ReportSection failure_section(const ReportModel& model);
ReportSection noise_section(const ReportModel& model);
ReportSection effort_section(const ReportModel& model);
ReportSection undecided_section(const ReportModel& model);

/// A candidate in the words of the command line, without its version: `jit_cpu kernel=dot rows=1`.
std::string short_name(const std::string& candidate);

}  // namespace attune
