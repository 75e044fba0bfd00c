// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "report/document/chart/canvas.h"

namespace attune {
namespace {

constexpr double kScatterHeight = 300;

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  void include(double value) {
    if (!(value > 0)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

std::string path_of(const ScatterChart::Line& line, const Axis& x, const Axis& y) {
  std::string commands;
  for (const auto& [at, value] : line.points)
    commands +=
        fmt::format("{}{} {}", commands.empty() ? "M" : "L", coordinate(x.place(at)), coordinate(y.place(value)));
  return commands;
}

}  // namespace

void draw(Markup& page, const ScatterChart& chart) {
  Range xs, ys;
  for (const ScatterChart::Series& series : chart.series) {
    for (const ScatterChart::Point& point : series.points) {
      xs.include(point.x);
      ys.include(point.y);
    }
  }
  for (const ScatterChart::Line& line : chart.lines) {
    for (const auto& [x, y] : line.points) ys.include(y);
  }
  std::vector<std::pair<std::string, std::string>> names;
  for (const ScatterChart::Series& series : chart.series)
    names.emplace_back(series.name, fmt::format("{}{}", series.tone, series.is_hollow ? " hollow" : ""));
  for (const ScatterChart::Line& line : chart.lines) names.emplace_back(line.name, "roof-patch");
  const double top = legend_height(names) + 26, bottom = top + kScatterHeight;
  const Axis x(Axis::Scale::logarithmic, xs.low / 1.3, xs.high * 1.3, kPlotLeft, kChartWidth - kPlotRight);
  const Axis y(Axis::Scale::logarithmic, ys.low / 1.3, ys.high * 1.3, bottom, top);
  Canvas canvas(page, chart.text, bottom + 44);
  canvas.frame(x, y, {top, bottom, names, chart.x_axis, chart.y_axis});
  for (const ScatterChart::Line& line : chart.lines) canvas.path("roof", path_of(line, x, y));
  for (const ScatterChart::Series& series : chart.series) {
    const std::string tone = fmt::format("{} {}", series.tone, series.is_hollow ? "hollow" : "dot");
    for (const ScatterChart::Point& point : series.points) {
      canvas.point(tone, x.place(point.x), y.place(point.y), point.label);
      page.line_end();
    }
  }
}

}  // namespace attune
