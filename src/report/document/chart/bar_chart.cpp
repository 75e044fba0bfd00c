// SPDX-License-Identifier: MIT
#include <algorithm>

#include "report/document/chart/canvas.h"

namespace attune {
namespace {

constexpr double kBarRow = 22, kBarHeight = 12, kBarsTop = 44, kBarsLeft = 206, kBarsRight = 64;
constexpr size_t kMaxBarLabel = 32;

}  // namespace

void draw(Markup& page, const BarChart& chart) {
  double low = chart.reference, high = chart.reference;
  for (const BarChart::Bar& bar : chart.bars) {
    low = std::min({low, bar.value, bar.low});
    high = std::max({high, bar.value, bar.high});
  }
  // Intervals of a shape that was hardly measured may reach to nothing or to anything; the others stay legible.
  low = std::max(low * 0.97, chart.reference / 20);
  high = std::min(high * 1.03, chart.reference * 100);
  const double right = kChartWidth - kBarsRight,
               height = kBarsTop + kBarRow * static_cast<double>(chart.bars.size()) + 8;
  const Axis axis(Axis::Scale::logarithmic, low, high, kBarsLeft, right);
  Canvas canvas(page, chart.text, height);
  canvas.label("axis", (kBarsLeft + right) / 2, 12, Anchor::middle, chart.axis);
  canvas.vertical_lines(axis, kBarsTop - 10, height - 8, kBarsTop - 16);
  double top = kBarsTop;
  for (const BarChart::Bar& bar : chart.bars) {
    const double from = axis.place(chart.reference), to = axis.place(bar.value), middle = top + kBarHeight / 2;
    canvas.label("label", kBarsLeft - 10, middle + 4, Anchor::end, plain_text(bar.label, kMaxBarLabel));
    canvas.bar(bar.tone, std::min(from, to), top, std::max(1.0, std::max(from, to) - std::min(from, to)), kBarHeight);
    if (bar.high > bar.low) {
      const double begin = axis.place(bar.low), end = axis.place(bar.high);
      canvas.line("halo", begin, middle, end, middle);  // Without it the line is lost on the bar.
      canvas.line("whisker", begin, middle, end, middle);
      canvas.line("whisker", begin, middle - 3, begin, middle + 3);
      canvas.line("whisker", end, middle - 3, end, middle + 3);
    }
    canvas.label("value", kChartWidth - 4, middle + 4, Anchor::end, bar.value_text);
    page.line_end();
    top += kBarRow;
  }
  canvas.line("reference", axis.place(chart.reference), kBarsTop - 10, axis.place(chart.reference), height - 8);
}

}  // namespace attune
