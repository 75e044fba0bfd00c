// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/document/markup.h"

namespace attune {

// Four static charts as SVG, 640 units wide. Each is an image with a title and a description for readers who do not see
// it. Colours are classes of the document's style sheet: `good`, `bad`, `calm` say what a value means, `c0` … `c7`
// tell series apart. Numbers are rounded to a tenth of a unit: the same data give the same bytes.

/// What every chart has. `id`: unique in the document; letters alone.
struct ChartText {
  std::string id, title, description;
};

/// Bars from a reference line, one below the other, each with an interval and its value as text. Logarithmic: made for
/// ratios.
struct BarChart {
  struct Bar {
    std::string label, value_text;
    double value = 1, low = 1, high = 1;
    const char* tone = "calm";
  };
  ChartText text;
  std::string axis;
  double reference = 1;
  std::vector<Bar> bars;
};

/// Points and lines on two logarithmic axes.
struct ScatterChart {
  struct Point {
    double x = 0, y = 0;
    std::string label;
  };
  struct Series {
    std::string name;
    const char* tone = "c0";
    bool is_hollow = false;
    std::vector<Point> points;
  };
  struct Line {
    std::string name;
    std::vector<std::pair<double, double>> points;
  };
  ChartText text;
  std::string x_axis, y_axis;
  std::vector<Series> series;
  std::vector<Line> lines;
};

/// Lines of steps: a value holds until the next one.
struct StepChart {
  struct Series {
    std::string name;
    const char* tone = "c0";
    std::vector<std::pair<double, double>> points;  ///< By ascending x.
  };
  ChartText text;
  std::string x_axis, y_axis;
  bool is_x_logarithmic = false;
  double y_low = 0, y_high = 1;
  std::vector<Series> series;
};

/// Bars of counts, one below the other, each divided into parts.
struct StackedChart {
  struct Bar {
    std::string label;
    std::vector<double> parts;  ///< One for each name.
  };
  ChartText text;
  std::string axis;
  std::vector<std::string> names;
  std::vector<Bar> bars;
};

void draw(Markup& page, const BarChart& chart);
void draw(Markup& page, const ScatterChart& chart);
void draw(Markup& page, const StepChart& chart);
void draw(Markup& page, const StackedChart& chart);

/// Class of the n-th series.
const char* series_tone(size_t number);

}  // namespace attune
