// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "report/document/chart/axis.h"
#include "report/document/chart/chart.h"

namespace attune {

/// Width of every chart, in units of the drawing.
inline constexpr double kChartWidth = 640;
/// Space for the numbers of a vertical axis, and at the other side.
inline constexpr double kPlotLeft = 64, kPlotRight = 16;

enum class Anchor { start, middle, end };

/// What stands around a plot, which lies from `top` to `bottom`.
struct ChartFrame {
  double top = 0, bottom = 0;
  const std::vector<std::pair<std::string, std::string>>& names_and_tones;
  const std::string &x_axis, &y_axis;
};

/// The marks of an SVG image, written between its begin and its end. `page` must outlive it.
class Canvas {
 public:
  Canvas(Markup& page, const ChartText& text, double height);
  ~Canvas();
  Canvas(const Canvas&) = delete;
  Canvas& operator=(const Canvas&) = delete;

  void line(const char* tone, double x1, double y1, double x2, double y2);
  void bar(const char* tone, double x, double y, double width, double height);
  void label(const char* tone, double x, double y, Anchor anchor, std::string_view text);
  /// A point with a text that shows when a pointer rests on it.
  void point(const std::string& tone, double x, double y, std::string_view text);
  void path(const std::string& tone, const std::string& commands);

  /// Lines and numbers of a horizontal or vertical axis; the numbers stand at `text_at`.
  void vertical_lines(const Axis& axis, double top, double bottom, double text_at);
  void horizontal_lines(const Axis& axis, double left, double right);
  /// Names next to patches of their colours, from `y` on in rows; returns the height.
  double legend(const std::vector<std::pair<std::string, std::string>>& names_and_tones, double y);
  /// The frame of a chart's points and lines: names above it, both axes with their titles.
  void frame(const Axis& x, const Axis& y, const ChartFrame& frame);

 private:
  Markup& page_;
};

/// Height that Canvas::legend() takes.
double legend_height(const std::vector<std::pair<std::string, std::string>>& names_and_tones);

}  // namespace attune
