// SPDX-License-Identifier: MIT
#include "report/document/chart/canvas.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"

namespace attune {
namespace {

constexpr double kLegendRow = 18, kPatch = 10;
constexpr size_t kMaxLegendName = 40;

/// Labels have about 6.2 units a character in the document's font; the space between names is part of it.
double width_of(const std::string& name) {
  const std::string text = plain_text(name, kMaxLegendName);
  const auto characters = std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; });
  return kPatch + 6 + 6.4 * static_cast<double>(characters) + 18;
}

}  // namespace

Canvas::Canvas(Markup& page, const ChartText& text, double height) : page_(page) {
  const std::string title = text.id + "-title", description = text.id + "-desc";
  page.open("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
                    {"class", "chart"},
                    {"role", "img"},
                    {"viewBox", fmt::format("0 0 {} {}", coordinate(kChartWidth), coordinate(height))},
                    {"aria-labelledby", title + " " + description}});
  page.element("title", {{"id", title}}, text.title).element("desc", {{"id", description}}, text.description);
  page.line_end();
}

Canvas::~Canvas() { page_.close().line_end(); }

void Canvas::line(const char* tone, double x1, double y1, double x2, double y2) {
  page_.empty("line", {{"class", tone},
                       {"x1", coordinate(x1)},
                       {"y1", coordinate(y1)},
                       {"x2", coordinate(x2)},
                       {"y2", coordinate(y2)}});
}

void Canvas::bar(const char* tone, double x, double y, double width, double height) {
  page_.empty("rect", {{"class", tone},
                       {"x", coordinate(x)},
                       {"y", coordinate(y)},
                       {"width", coordinate(width)},
                       {"height", coordinate(height)}});
}

void Canvas::label(const char* tone, double x, double y, Anchor anchor, std::string_view text) {
  constexpr std::array<std::string_view, 3> kAnchors = {"start", "middle", "end"};
  page_.element("text",
                {{"class", tone},
                 {"x", coordinate(x)},
                 {"y", coordinate(y)},
                 {"text-anchor", kAnchors[static_cast<size_t>(anchor)]}},
                text);
}

void Canvas::point(const std::string& tone, double x, double y, std::string_view text) {
  page_.open("circle", {{"class", tone}, {"cx", coordinate(x)}, {"cy", coordinate(y)}, {"r", "3.5"}});
  page_.element("title", {}, text).close();
}

void Canvas::path(const std::string& tone, const std::string& commands) {
  page_.empty("path", {{"class", tone}, {"d", commands}});
}

void Canvas::vertical_lines(const Axis& axis, double top, double bottom, double text_at) {
  for (const double tick : axis.ticks()) {
    line("grid", axis.place(tick), top, axis.place(tick), bottom);
    label("tick", axis.place(tick), text_at, Anchor::middle, tick_text(tick));
  }
}

void Canvas::horizontal_lines(const Axis& axis, double left, double right) {
  for (const double tick : axis.ticks()) {
    line("grid", left, axis.place(tick), right, axis.place(tick));
    label("tick", left - 8, axis.place(tick) + 4, Anchor::end, tick_text(tick));
  }
}

double Canvas::legend(const std::vector<std::pair<std::string, std::string>>& names_and_tones, double y) {
  double x = 0, row = 0;
  for (const auto& [name, tone] : names_and_tones) {
    if (x > 0 && x + width_of(name) > kChartWidth) {
      x = 0;
      ++row;
    }
    const double top = y + row * kLegendRow;
    page_.empty("rect", {{"class", tone},
                         {"x", coordinate(x)},
                         {"y", coordinate(top)},
                         {"width", coordinate(kPatch)},
                         {"height", coordinate(kPatch)},
                         {"rx", "2"}});
    label("name", x + kPatch + 6, top + kPatch - 1, Anchor::start, plain_text(name, kMaxLegendName));
    x += width_of(name);
  }
  return (row + 1) * kLegendRow;
}

double legend_height(const std::vector<std::pair<std::string, std::string>>& names_and_tones) {
  double x = 0, rows = 1;
  for (const auto& [name, tone] : names_and_tones) {
    if (x > 0 && x + width_of(name) > kChartWidth) {
      x = 0;
      ++rows;
    }
    x += width_of(name);
  }
  return rows * kLegendRow;
}

const char* series_tone(size_t number) {
  constexpr std::array<const char*, 8> kTones = {"c0", "c1", "c2", "c3", "c4", "c5", "c6", "c7"};
  return kTones[number % kTones.size()];
}

void Canvas::frame(const Axis& x, const Axis& y, const ChartFrame& frame) {
  legend(frame.names_and_tones, 2);
  label("axis", 0, frame.top - 10, Anchor::start, frame.y_axis);
  horizontal_lines(y, kPlotLeft, kChartWidth - kPlotRight);
  vertical_lines(x, frame.top, frame.bottom, frame.bottom + 18);
  label("axis", (kPlotLeft + kChartWidth - kPlotRight) / 2, frame.bottom + 38, Anchor::middle, frame.x_axis);
  page_.line_end();
}

}  // namespace attune
