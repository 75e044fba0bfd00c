// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "report/document/chart/canvas.h"

namespace attune {
namespace {

constexpr double kStepHeight = 220;

std::string steps_of(const StepChart::Series& series, const Axis& x, const Axis& y) {
  std::string commands;
  for (const auto& [at, value] : series.points) {
    if (commands.empty())
      commands = fmt::format("M{} {}", coordinate(x.place(at)), coordinate(y.place(value)));
    else
      commands += fmt::format("H{}V{}", coordinate(x.place(at)), coordinate(y.place(value)));
  }
  return commands;
}

}  // namespace

void draw(Markup& page, const StepChart& chart) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  std::vector<std::pair<std::string, std::string>> names;
  for (const StepChart::Series& series : chart.series) {
    names.emplace_back(series.name, series.tone);
    for (const auto& [x, y] : series.points) {
      low = std::min(low, x);
      high = std::max(high, x);
    }
  }
  const double top = legend_height(names) + 26, bottom = top + kStepHeight;
  const Axis x(chart.is_x_logarithmic ? Axis::Scale::logarithmic : Axis::Scale::linear, low, high, kPlotLeft,
               kChartWidth - kPlotRight);
  const Axis y(Axis::Scale::linear, chart.y_low, chart.y_high, bottom, top);
  Canvas canvas(page, chart.text, bottom + 44);
  canvas.frame(x, y, {top, bottom, names, chart.x_axis, chart.y_axis});
  for (const StepChart::Series& series : chart.series) {
    canvas.path(fmt::format("{} step", series.tone), steps_of(series, x, y));
    page.line_end();
  }
}

}  // namespace attune
