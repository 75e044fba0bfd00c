// SPDX-License-Identifier: MIT
#include "report/document/chart/chart.h"

#include <gmock/gmock.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>

#include "base/file.h"
#include "report/document/chart/axis.h"
#include "testing/test_files.h"

namespace attune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

template <typename Chart>
std::string svg_of(const Chart& chart) {
  Markup page;
  draw(page, chart);
  return page.take();
}

/// Compares with tests/data/charts; ATTUNE_WRITE_GOLDEN=1 writes the actual charts.
void expect_golden(const std::string& svg, const std::string& name) {
  const auto file = excerpt("charts/" + name + ".svg");
  if (std::getenv("ATTUNE_WRITE_GOLDEN") != nullptr) std::ofstream(file, std::ios::binary) << svg;
  EXPECT_EQ(svg, read_file(file)) << "look at the difference; ATTUNE_WRITE_GOLDEN=1 writes the file anew";
  EXPECT_THAT(svg, HasSubstr("<title id=\"x-title\">A title</title><desc id=\"x-desc\">What it shows</desc>"));
  EXPECT_THAT(svg, HasSubstr("role=\"img\""));
  EXPECT_THAT(svg, testing::Not(testing::ContainsRegex("nan|inf")));
}

const ChartText kText{"x", "A title", "What it shows"};

TEST(BarChart, BarsBeginAtTheReferenceAndHaveIntervals) {
  BarChart chart{.text = kText, .axis = "old / new"};
  chart.bars = {{"1×32×48 fp32", "1.500×", 1.5, 1.4, 1.6, "good"},
                {"a label that is much too long for its place", "1.000×", 1, 1, 1, "calm"},
                {"4×96×64 fp32", "0.900×", 0.9, 0.85, 0.95, "bad"}};
  expect_golden(svg_of(chart), "bar");
}

TEST(ScatterChart, PointsHaveTextsAndRoofsAreLines) {
  ScatterChart chart{.text = kText, .x_axis = "operations a byte", .y_axis = "TFLOP/s"};
  chart.series = {{"default", "c1", true, {{2, 0.1, "one"}, {200, 3, "two"}}},
                  {"winner", "c0", false, {{2, 0.2, "one"}}}};
  chart.lines = {{"peak fp32", {{1, 0.1}, {10, 1}, {300, 1}}}};
  expect_golden(svg_of(chart), "scatter");
}

TEST(StepChart, AValueHoldsUntilTheNext) {
  StepChart chart{
      .text = kText, .x_axis = "candidates", .y_axis = "ratio", .is_x_logarithmic = true, .y_low = 1, .y_high = 2};
  chart.series = {{"median", "c0", {{1, 1.9}, {4, 1.2}, {90, 1}}}};
  expect_golden(svg_of(chart), "step");
}

TEST(StackedChart, PartsAddUp) {
  StackedChart chart{.text = kText, .axis = "shapes", .names = {"jit_cpu", "onednn"}};
  chart.bars = {{"M = 1", {3, 1}}, {"M 2 – 16", {0, 5}}};
  expect_golden(svg_of(chart), "stacked");
}

TEST(Charts, NothingAndNumbersThatAreNoneAreDrawn) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInf = std::numeric_limits<double>::infinity();
  for (const std::string& svg :
       {svg_of(BarChart{}), svg_of(ScatterChart{}), svg_of(StepChart{}), svg_of(StackedChart{}),
        svg_of(BarChart{.bars = {{"a", "", kNan, 0, kInf, "calm"}, {"b", "", 0, -1, kNan, "calm"}}}),
        svg_of(ScatterChart{.series = {{"s", "c0", false, {{kNan, kInf, ""}, {0, -1, ""}}}}}),
        svg_of(StepChart{.series = {{"s", "c0", {{kNan, kInf}, {-kInf, 0}}}}}),
        svg_of(StackedChart{.names = {"n"}, .bars = {{"a", {kNan}}, {"b", {-1}}}})}) {
    EXPECT_THAT(svg, testing::Not(testing::ContainsRegex("nan|inf"))) << svg;
  }
}

TEST(Axis, TicksAreRoundNumbersBetweenTheEnds) {
  EXPECT_THAT(Axis(Axis::Scale::linear, 0, 100, 0, 1).ticks(), ElementsAre(0, 20, 40, 60, 80, 100));
  EXPECT_THAT(Axis(Axis::Scale::logarithmic, 0.7, 3, 0, 1).ticks(), testing::Contains(testing::DoubleEq(1)));
  EXPECT_EQ(Axis(Axis::Scale::logarithmic, 1, 100, 0, 10).place(10), 5);
  EXPECT_EQ(Axis(Axis::Scale::logarithmic, 1, 100, 0, 10).place(1e9), 10);
}

}  // namespace
}  // namespace attune
