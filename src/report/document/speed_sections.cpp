// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "base/text.h"
#include "report/document/report_section.h"
#include "report/document/report_summary.h"

namespace attune {
namespace {

std::string ratio_text(double ratio) { return ratio > 0 ? fmt::format("{:.3f}×", ratio) : ""; }
std::string us_text(double us) { return us > 0 ? fmt::format("{:.2f}", us) : ""; }
std::string interval_text(const Interval& interval) {
  return interval.high > 0 ? fmt::format("{:.3f} – {:.3f}", interval.low, interval.high) : "";
}

const char* tone_of(ReportVerdict verdict) {
  switch (verdict) {
    case ReportVerdict::faster:
      return "good";
    case ReportVerdict::slower:
    case ReportVerdict::failed:
      return "bad";
    default:
      return "calm";
  }
}

std::vector<const ReportChange*> sorted_changes(const ReportPipeline& pipeline) {
  std::vector<const ReportChange*> changes;
  for (const ReportFamily& family : pipeline.families) {
    for (const ReportChange& change : family.changes) changes.push_back(&change);
  }
  std::ranges::stable_sort(changes, std::greater(), [](const ReportChange* one) { return one->speedup; });
  return changes;
}

std::vector<const ReportDecision*> sorted_decisions(const ReportModel& model) {
  std::vector<const ReportDecision*> decisions;
  for (const ReportDecision& one : model.decisions) decisions.push_back(&one);
  std::ranges::stable_sort(decisions, std::greater(), [](const ReportDecision* one) { return one->ratio; });
  return decisions;
}

}  // namespace

ReportSection change_section(const ReportModel& model) {
  ReportSection section{.id = "changes", .title = "Before and after", .is_table_first_class = true};
  if (!model.pipeline) return section;
  section.note =
      "Each shape was timed with the kernel of the old tables and with that of the new ones, interleaved. Speed-up is "
      "the old time over the new one; its interval is adjusted over the shapes of the run. A shape that keeps its "
      "kernel "
      "is the same and was not timed.";
  BarChart chart{.text = {"changes-chart", "Speed-up by shape, new tables over old", ""},
                 .axis = "old time / new time, logarithmic"};
  section.table.columns = {{"shape"},          {"verdict"},        {"before, µs", true}, {"after, µs", true},
                           {"speed-up", true}, {"interval", true}, {"new kernel"},       {"remark"}};
  for (const ReportChange* change : sorted_changes(*model.pipeline)) {
    section.table.rows.push_back({change->shape, std::string(name(change->verdict)), us_text(change->before.us),
                                  us_text(change->after.us), ratio_text(change->speedup),
                                  change->num_pairs > 0 ? interval_text(change->interval) : "",
                                  short_name(change->after.candidate), change->reason});
    if (change->num_pairs > 0)
      chart.bars.push_back({change->shape, ratio_text(change->speedup), change->speedup, change->interval.low,
                            change->interval.high, tone_of(change->verdict)});
  }
  chart.text.description = fmt::format(
      "{} that changed the kernel, from the largest speed-up to the smallest. The "
      "vertical line marks equal times. The table has every number.",
      counted(chart.bars.size(), "shape"));
  if (!chart.bars.empty()) section.chart = std::move(chart);
  return section;
}

ReportSection decision_section(const ReportModel& model) {
  ReportSection section{.id = "winners", .title = "Winners over the default", .is_table_first_class = true};
  section.note =
      "The default is what the first available library runs untuned. Bars show the winner's speed-up over it, whiskers "
      "the 95 % interval. Tied shapes keep the default. A shape that no library serves has none, and no speed-up.";
  BarChart chart{.text = {"winners-chart", "Speed-up by shape, winner over the default", ""},
                 .axis = "time of the default / time of the winner, logarithmic"};
  std::set<std::string> devices;
  bool has_roofline = false;
  for (const ReportDecision& one : model.decisions) {
    devices.insert(one.device);
    has_roofline = has_roofline || one.of_roofline > 0;
  }
  std::vector<ReportTable::Column>& columns = section.table.columns;
  columns = {{"shape"}, {"speed-up", true}, {"95 % interval", true}, {"default, µs", true}, {"winner, µs", true}};
  if (has_roofline) columns.push_back({"of the roofline", true});
  if (devices.size() > 1) columns.push_back({"device"});
  columns.insert(columns.end(), {{"verdict"}, {"winner"}});
  for (const ReportDecision* one : sorted_decisions(model)) {
    std::vector<std::string> row = {one->shape, ratio_text(one->ratio), interval_text(one->interval),
                                    us_text(one->default_us), us_text(one->winner_us)};
    if (has_roofline) row.push_back(one->of_roofline > 0 ? fmt::format("{:.0f} %", 100 * one->of_roofline) : "");
    if (devices.size() > 1) row.push_back(one->device);
    row.insert(row.end(), {verdict_text(*one), short_name(one->winner)});
    section.table.rows.push_back(std::move(row));
    const char* tone = one->verdict == Verdict::faster ? "good" : one->ratio < 1 ? "bad" : "calm";
    if (one->ratio > 0)
      chart.bars.push_back(
          {one->shape, ratio_text(one->ratio), one->ratio, one->interval.low, one->interval.high, tone});
  }
  chart.text.description = fmt::format(
      "{}, from the largest speed-up to the smallest. The vertical line marks the time "
      "of the default. The table has every number.",
      counted(chart.bars.size(), "shape"));
  if (!chart.bars.empty()) section.chart = std::move(chart);
  return section;
}

namespace {

/// The roofs of the devices for the types that their problems multiply: least of the peak and of what the bandwidth
/// feeds, from the lowest intensity to the highest.
std::vector<ScatterChart::Line> roofs(const ReportModel& model, double low, double high) {
  std::set<std::pair<std::string, std::string>> used;  // Fingerprint, type.
  for (const ReportDecision& one : model.decisions) used.emplace(one.fingerprint, one.arithmetic);
  std::vector<ScatterChart::Line> lines;
  for (const ReportDevice& device : model.devices) {
    const double bandwidth = device.bandwidth_gbs;
    for (const auto& [type, peak] : device.peak_gflops) {
      if (!(peak > 0) || !used.contains({device.fingerprint, type})) continue;
      const auto at = [&, max = peak](double x) { return std::min(max, bandwidth > 0 ? bandwidth * x : max) / 1e3; };
      const double knee = bandwidth > 0 ? std::clamp(peak / bandwidth, low, high) : high;
      lines.push_back(
          {fmt::format("peak {} of {}", type, device.key), {{low, at(low)}, {knee, at(knee)}, {high, at(high)}}});
    }
  }
  return lines;
}

}  // namespace

ReportSection roofline_section(const ReportModel& model) {
  ReportSection section{.id = "roofline", .title = "Roofline"};
  section.note =
      "Speed against operations a byte, both logarithmic: hollow points are the defaults, filled ones the winners. "
      "Work "
      "counts each operand once. Lines are the device's peaks and bandwidth, where they are known.";
  ScatterChart chart{.text = {"roofline-chart", "Speed of the defaults and the winners by arithmetic intensity", ""},
                     .x_axis = "operations a byte",
                     .y_axis = "TFLOP/s"};
  ScatterChart::Series before{"default", "c1", true, {}}, after{"winner", "c0", false, {}};
  section.table.columns = {
      {"shape"}, {"operations a byte", true}, {"default, TFLOP/s", true}, {"winner, TFLOP/s", true}};
  double low = 0, high = 0;
  for (const ReportDecision& one : model.decisions) {
    if (!(one.flops > 0) || !(one.bytes > 0) || !(one.winner_us > 0) || !(one.default_us > 0)) continue;
    const double intensity = one.flops / one.bytes;
    const double old_rate = one.flops / one.default_us / 1e6, new_rate = one.flops / one.winner_us / 1e6;
    low = low > 0 ? std::min(low, intensity) : intensity;
    high = std::max(high, intensity);
    before.points.push_back({intensity, old_rate, fmt::format("{}: {:.3g} TFLOP/s, default", one.shape, old_rate)});
    after.points.push_back({intensity, new_rate, fmt::format("{}: {:.3g} TFLOP/s, winner", one.shape, new_rate)});
    section.table.rows.push_back({one.shape, fmt::format("{:.3g}", intensity), fmt::format("{:.4g}", old_rate),
                                  fmt::format("{:.4g}", new_rate)});
  }
  chart.text.description =
      fmt::format("{}. A winner above its default at the same place is faster.", counted(after.points.size(), "shape"));
  if (!after.points.empty()) chart.lines = roofs(model, low / 1.3, high * 1.3);
  chart.series = {std::move(before), std::move(after)};
  if (!section.table.rows.empty()) section.chart = std::move(chart);
  return section;
}

}  // namespace attune
