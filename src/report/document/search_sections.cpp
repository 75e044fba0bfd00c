// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "core/candidate.h"
#include "core/statistics.h"
#include "ops/family.h"
#include "report/document/report_section.h"

namespace attune {
namespace {

/// A class of problems, by the attribute that their op names (FamilySpec::report_axis): sizes of one token, of small
/// batches, and so on, or a choice.
struct ProblemClass {
  bool is_other = false;  ///< The op, or the attribute, is unknown.
  std::string axis;       ///< Column of the attribute.
  size_t number = 0;      ///< Order in the axis.
  std::string label;
  auto operator<=>(const ProblemClass&) const = default;
};

ProblemClass class_of_size(std::string_view axis, int64_t size) {
  constexpr std::array<int64_t, 4> kMost = {1, 16, 128, 1024};
  const auto number = static_cast<size_t>(std::ranges::lower_bound(kMost, size) - kMost.begin());
  std::string label = number == 0              ? fmt::format("{} = 1", axis)
                      : number == kMost.size() ? fmt::format("{} above {}", axis, kMost.back())
                                               : fmt::format("{} {} – {}", axis, kMost[number - 1] + 1, kMost[number]);
  return {.axis = std::string(axis), .number = number, .label = std::move(label)};
}

/// Of an op or attributes of another build, and of an op without an axis: "other".
ProblemClass class_of(const std::string& key) {
  try {
    const Problem problem = Problem::parse(key);
    const FamilySpec* const family = find_family(problem.op());
    const AttributeSpec* const axis =
        family == nullptr ? nullptr
                          : find_column(*family, family->report_axis.empty() ? family->rows : family->report_axis);
    if (axis != nullptr && axis->kind == ColumnKind::integer)
      return class_of_size(axis->column, problem.integer(axis->name));
    if (axis != nullptr) {
      const std::string& value = problem.text(axis->name);
      return {.axis = std::string(axis->column),
              .number = choice_number(axis->allowed, value).value_or(axis->allowed.size()),
              .label = fmt::format("{} {}", axis->column, value)};
    }
  } catch (const Error&) {
  }
  return {.is_other = true, .label = "other"};
}

/// Counts by row and name, as a chart and its table.
class CountTable {
 public:
  void add(size_t row, const std::string& name, uint64_t count) { counts_[name][row] += count; }
  void fill(StackedChart& chart, ReportTable& table, const char* heading,
            const std::vector<std::string>& labels) const {
    table.columns = {{heading}};
    for (const auto& [name, by_row] : counts_) {
      chart.names.push_back(name);
      table.columns.push_back({name, true});
    }
    table.columns.push_back({"all", true});
    for (size_t row = 0; row < labels.size(); ++row) {
      StackedChart::Bar bar{labels[row], {}};
      std::vector<std::string> cells = {labels[row]};
      uint64_t all = 0;
      for (const auto& [name, by_row] : counts_) {
        const auto count = by_row.find(row);
        const uint64_t number = count == by_row.end() ? 0 : count->second;
        bar.parts.push_back(static_cast<double>(number));
        cells.push_back(std::to_string(number));
        all += number;
      }
      if (all == 0) continue;
      cells.push_back(std::to_string(all));
      chart.bars.push_back(std::move(bar));
      table.rows.push_back(std::move(cells));
    }
  }

 private:
  std::map<std::string, std::map<size_t, uint64_t>> counts_;
};

}  // namespace

std::string short_name(const std::string& candidate) {
  const size_t colon = candidate.find(':');
  std::string text(first_part(candidate));
  if (colon == std::string::npos) return text;
  for (std::string_view part : split(std::string_view(candidate).substr(colon + 1), ';'))
    text += fmt::format(" {}", part);
  return text;
}

ReportSection winner_section(const ReportModel& model) {
  ReportSection section{.id = "solvers", .title = "Winners by solver"};
  section.note =
      "How many shapes each solver won, by the class of the shape: its rows M, of a convolution its direction. A "
      "library's untuned config counts as well.";
  StackedChart chart{.text = {"solvers-chart", "Shapes won by each solver, by class", ""}, .axis = "shapes"};
  std::map<ProblemClass, std::vector<std::string>> solvers;
  for (const ReportDecision& one : model.decisions) solvers[class_of(one.problem)].emplace_back(first_part(one.solver));
  CountTable counts;
  std::vector<std::string> labels;
  for (const auto& [its_class, names] : solvers) {
    for (const std::string& name : names) counts.add(labels.size(), name, 1);
    labels.push_back(its_class.label);
  }
  counts.fill(chart, section.table, "class", labels);
  chart.text.description = fmt::format("{} in {}. The table has the counts.", counted(model.decisions.size(), "shape"),
                                       counted(chart.bars.size(), "class"));
  if (!chart.bars.empty()) section.chart = std::move(chart);
  return section;
}

ReportSection failure_section(const ReportModel& model) {
  ReportSection section{.id = "failures", .title = "Candidates that failed", .is_table_first_class = true};
  section.note =
      "A candidate that fails is left out and harms no other. The text is the newest example's; `attune journal "
      "follow` "
      "and `attune quarantine list` have all.";
  StackedChart chart{.text = {"failures-chart", "Failed candidates by status and solver", ""}, .axis = "results"};
  CountTable counts;
  std::vector<std::string> labels;
  for (size_t i = 0; i <= static_cast<size_t>(Status::cancelled); ++i)
    labels.emplace_back(name(static_cast<Status>(i)));
  section.table.columns = {{"status"}, {"solver"}, {"results", true}, {"newest example"}, {"what it says"}};
  ReportTable by_status;
  for (const ReportFailure& one : model.failures) {
    counts.add(static_cast<size_t>(one.status), std::string(first_part(one.solver)), one.count);
    section.table.rows.push_back(
        {std::string(name(one.status)), std::string(first_part(one.solver)), std::to_string(one.count),
         fmt::format("{}  {}", one.problem.substr(0, 300), one.candidate.substr(0, 300)), one.detail.substr(0, 600)});
  }
  counts.fill(chart, by_status, "status", labels);
  chart.text.description = "Each bar is a status, divided by solver. The table has counts and examples.";
  if (!chart.bars.empty()) section.chart = std::move(chart);
  return section;
}

namespace {

/// Best time after so many evaluations; nothing before the first one that worked.
std::optional<double> best_after(const ReportProgress& progress, uint64_t evaluations) {
  std::optional<double> best;
  for (const auto& [at, us] : progress.best) {
    if (at > evaluations) break;
    best = us;
  }
  return best;
}

/// 1, 2, 3, 5, 8 … up to the last number and with it.
std::vector<uint64_t> evaluation_grid(uint64_t last) {
  std::vector<uint64_t> grid;
  for (double at = 1; static_cast<uint64_t>(at) < last; at = std::max(at + 1, at * 1.25))
    grid.push_back(static_cast<uint64_t>(at));
  if (last > 0) grid.push_back(last);
  return grid;
}

double quantile(std::vector<double> values, double share) {
  const auto place = static_cast<size_t>(share * static_cast<double>(values.size() - 1) + 0.5);
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(place), values.end());
  return values[place];
}

}  // namespace

ReportSection progress_section(const ReportModel& model) {
  ReportSection section{.id = "progress", .title = "Best time by evaluations"};
  section.note =
      "The best time so far over the best time that was found, after so many candidates of a shape were tried: at 1 "
      "the "
      "search could have stopped. One line is the middle of the shapes, the other the shape at the 90th percentile.";
  StepChart chart{.text = {"progress-chart", "Best time so far, relative to the best found, by candidates tried", ""},
                  .x_axis = "candidates tried, logarithmic",
                  .y_axis = "best so far / best found",
                  .is_x_logarithmic = true,
                  .y_low = 1,
                  .y_high = 1};
  StepChart::Series middle{"median shape", "c0", {}}, late{"90th percentile", "c1", {}};
  uint64_t last = 0;
  for (const ReportProgress& one : model.progress) last = std::max(last, one.best.empty() ? 0 : one.best.back().first);
  section.table.columns = {{"candidates tried", true}, {"shapes", true}, {"median", true}, {"90th percentile", true}};
  for (const uint64_t at : evaluation_grid(last)) {
    std::vector<double> ratios;
    for (const ReportProgress& one : model.progress) {
      if (const auto best = best_after(one, at)) ratios.push_back(*best / one.best.back().second);
    }
    if (ratios.empty()) continue;
    const double half = quantile(ratios, 0.5), max = quantile(ratios, 0.9);
    middle.points.emplace_back(static_cast<double>(at), half);
    late.points.emplace_back(static_cast<double>(at), max);
    chart.y_high = std::max({chart.y_high, half, max});
    section.table.rows.push_back(
        {std::to_string(at), std::to_string(ratios.size()), fmt::format("{:.3f}", half), fmt::format("{:.3f}", max)});
  }
  chart.text.description = fmt::format("{}, up to {} candidates.", counted(model.progress.size(), "shape"), last);
  chart.y_high = std::min(chart.y_high * 1.02, 10.0);
  chart.series = {std::move(middle), std::move(late)};
  if (!section.table.rows.empty()) section.chart = std::move(chart);
  return section;
}

ReportSection noise_section(const ReportModel& model) {
  ReportSection section{.id = "noise", .title = "Disturbance"};
  section.note =
      "Dirty samples were disturbed by other programs or a low clock and are not used; a measurement is noisy if too "
      "few "
      "were clean. Much of either calls for a quieter machine.";
  if (model.noise.empty()) return section;
  const int64_t begin_ms = model.noise.front().begin_ms;
  StepChart chart{
      .text = {"noise-chart", "Share of disturbed samples and measurements by time", ""},
      .x_axis = fmt::format("minutes since {} UTC", utc_time_text(begin_ms).substr(0, 16).replace(10, 1, " ")),
      .y_axis = "per cent",
      .y_high = 100};
  StepChart::Series dirty{"dirty samples", "c0", {}}, noisy{"noisy measurements", "c1", {}};
  section.table.columns = {
      {"minutes", true}, {"samples", true}, {"dirty, %", true}, {"measurements", true}, {"noisy, %", true}};
  double max = 0;
  for (const ReportNoise& one : model.noise) {
    const auto share = [](uint64_t part, uint64_t all) {
      return all == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(all);
    };
    const double from = static_cast<double>(one.begin_ms - begin_ms) / 60000;
    const double to = from + static_cast<double>(one.width_ms) / 60000;
    const double dirty_share = share(one.num_dirty, one.num_samples),
                 noisy_share = share(one.num_noisy, one.num_measurements);
    for (const double at : {from, to}) {
      dirty.points.emplace_back(at, dirty_share);
      noisy.points.emplace_back(at, noisy_share);
    }
    max = std::max({max, dirty_share, noisy_share});
    section.table.rows.push_back({fmt::format("{:.1f}", from), std::to_string(one.num_samples),
                                  fmt::format("{:.1f}", dirty_share), std::to_string(one.num_measurements),
                                  fmt::format("{:.1f}", noisy_share)});
  }
  chart.text.description = "Two lines of steps; 0 is undisturbed. The table has the numbers of samples.";
  chart.y_high = max > 50 ? 100 : max > 20 ? 50 : max > 5 ? 20 : 5;
  chart.series = {std::move(dirty), std::move(noisy)};
  section.chart = std::move(chart);
  return section;
}

ReportSection effort_section(const ReportModel& model) {
  ReportSection section{.id = "effort", .title = "Tuning time and trials"};
  section.note =
      "Each point is a shape: how many candidates were tried for it, and how long the run that decided it took.";
  ScatterChart chart{.text = {"effort-chart", "Tuning time by candidates tried", ""},
                     .x_axis = "candidates tried",
                     .y_axis = "seconds a shape"};
  ScatterChart::Series shapes{"shape", "c0", false, {}};
  section.table.columns = {{"shape"}, {"candidates", true}, {"seconds", true}};
  double seconds = 0;
  uint64_t candidates = 0;
  for (const ReportDecision& one : model.decisions) {
    if (one.num_candidates == 0 || !(one.seconds > 0)) continue;
    shapes.points.push_back({static_cast<double>(one.num_candidates), one.seconds,
                             fmt::format("{}: {} candidates, {:.1f} s", one.shape, one.num_candidates, one.seconds)});
    section.table.rows.push_back({one.shape, std::to_string(one.num_candidates), fmt::format("{:.1f}", one.seconds)});
    seconds += one.seconds;
    candidates += one.num_candidates;
  }
  chart.text.description = fmt::format("{}, {} in {}.", counted(shapes.points.size(), "shape"),
                                       counted(candidates, "candidate"), format_duration(seconds));
  chart.series = {std::move(shapes)};
  if (!section.table.rows.empty()) section.chart = std::move(chart);
  return section;
}

ReportSection undecided_section(const ReportModel& model) {
  ReportSection section{.id = "undecided", .title = "Shapes left undecided", .is_table_first_class = true};
  section.note =
      "Candidates were tried and nothing was decided: the run was interrupted, its budget ended, or every candidate "
      "failed.";
  section.table.columns = {{"shape"}, {"device"}, {"candidates", true}};
  for (const ReportUndecided& one : model.undecided)
    section.table.rows.push_back({one.shape, one.device, std::to_string(one.num_candidates)});
  return section;
}

std::vector<ReportSection> sections_of(const ReportModel& model) {
  std::vector<ReportSection> sections;
  for (auto* make : {change_section, decision_section, undecided_section, failure_section, roofline_section,
                     winner_section, progress_section, effort_section, noise_section}) {
    ReportSection section = make(model);
    if (!section.table.rows.empty()) sections.push_back(std::move(section));
  }
  return sections;
}

}  // namespace attune
