// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "report/document/chart/canvas.h"

namespace attune {
namespace {

constexpr double kStackRow = 28, kStackHeight = 18, kStackLeft = 140, kStackRight = 56;
constexpr size_t kMaxStackLabel = 22;

}  // namespace

void draw(Markup& page, const StackedChart& chart) {
  double max = 0;
  for (const StackedChart::Bar& bar : chart.bars)
    max = std::max(max, std::accumulate(bar.parts.begin(), bar.parts.end(), 0.0));
  std::vector<std::pair<std::string, std::string>> names;
  for (size_t i = 0; i < chart.names.size(); ++i) names.emplace_back(chart.names[i], series_tone(i));
  const double first = legend_height(names) + 12, bottom = first + kStackRow * static_cast<double>(chart.bars.size());
  const double right = kChartWidth - kStackRight;
  const Axis axis(Axis::Scale::linear, 0, max, kStackLeft, right);
  Canvas canvas(page, chart.text, bottom + 40);
  canvas.legend(names, 2);
  canvas.vertical_lines(axis, first - 4, bottom, bottom + 14);
  canvas.label("axis", (kStackLeft + right) / 2, bottom + 34, Anchor::middle, chart.axis);
  page.line_end();
  double top = first;
  for (const StackedChart::Bar& bar : chart.bars) {
    canvas.label("label", kStackLeft - 10, top + kStackHeight / 2 + 4, Anchor::end,
                 plain_text(bar.label, kMaxStackLabel));
    double sum = 0;
    for (size_t i = 0; i < bar.parts.size(); ++i) {
      if (!(bar.parts[i] > 0)) continue;
      const double from = axis.place(sum), to = axis.place(sum + bar.parts[i]);
      canvas.bar(series_tone(i), from, top, std::max(1.0, to - from - 1),
                 kStackHeight);  // A gap tells neighbours apart.
      sum += bar.parts[i];
    }
    canvas.label("value", axis.place(sum) + 6, top + kStackHeight / 2 + 4, Anchor::start, tick_text(sum));
    page.line_end();
    top += kStackRow;
  }
}

}  // namespace attune
