// SPDX-License-Identifier: MIT
#include "dispatch/agreement/serving_report.h"

#include <fmt/format.h>

#include <span>

#include "base/error.h"
#include "base/text.h"

namespace attune {
namespace {

constexpr std::string_view kHeading = "attune serving report 1";

int64_t units_of(std::string_view cell) {
  const auto units = parse_int(cell);
  if (!units || *units < 0) fail(ErrorCode::invalid_input, "a number of units expects a whole number, got '{}'", cell);
  return *units;
}

/// Adds what a line says to the report; returns false for a line that no report has.
bool read_line(std::span<const std::string_view> cells, ServingReport& report) {
  const std::string_view kind = cells.front();
  const auto text = [&](size_t i) { return std::string(cells[i]); };
  if (cells.size() == 2 && kind == "settings")
    report.settings = text(1);
  else if (cells.size() == 2 && kind == "serving")
    report.serving = text(1);
  else if (cells.size() == 2 && kind == "waiting")
    report.waiting = text(1);
  else if (cells.size() == 3 && kind == "kernel")
    report.kernels.push_back({text(1), text(2)});
  else if (cells.size() == 2 && kind == "failed")
    report.failed.push_back(text(1));
  else if (cells.size() == 4 && kind == "wanted")
    report.wanted.push_back({units_of(cells[1]), text(2), text(3)});
  else if (cells.size() == 4 && kind == "answer")
    report.answers.push_back({units_of(cells[1]), text(2), text(3)});
  else
    return false;
  return true;
}

}  // namespace

std::string ServingReport::text() const {
  std::string all = fmt::format("{}\nsettings\t{}\nserving\t{}\nwaiting\t{}\n", kHeading, settings, serving, waiting);
  for (const CommonKernel& one : kernels) all += fmt::format("kernel\t{}\t{}\n", one.recipe, one.toolchain);
  for (const std::string& recipe : failed) all += fmt::format("failed\t{}\n", recipe);
  for (const WantedKernel& one : wanted)
    all += fmt::format("wanted\t{}\t{}\t{}\n", one.units, one.problem, one.candidate);
  for (const ServedShape& one : answers)
    all += fmt::format("answer\t{}\t{}\t{}\n", one.units, one.problem, one.candidate);
  return all;
}

ServingReport ServingReport::parse(std::string_view text) {
  ServingReport report;
  const auto lines = split(text, '\n');
  // The last piece is what follows the last line's end: a report that was cut off has something there.
  if (lines.size() < 2 || lines.front() != kHeading || !lines.back().empty())
    fail(ErrorCode::invalid_input,
         "this is no report of what another process serves, run one version of Attune on all");
  for (size_t i = 1; i + 1 < lines.size(); ++i) {
    const auto cells = split(lines[i], '\t');
    if (!read_line(cells, report))
      fail(ErrorCode::invalid_input,
           "a line of another process's report is unknown, run one version of Attune on all: '{}'", lines[i]);
  }
  return report;
}

}  // namespace attune
