// SPDX-License-Identifier: MIT
#include "pipeline/run/run_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "core/statistics.h"
#include "pipeline/markdown/markdown_cell.h"
#include "pipeline/run/shape_json.h"
#include "report/result_table.h"

namespace attune {
namespace {

using nlohmann::ordered_json;
constexpr size_t kNumVerdicts = 5, kMaxSummaryBytes = 900'000;
using VerdictCounts = std::array<size_t, kNumVerdicts>;

VerdictCounts count(const std::vector<ChangeResult>& results) {
  VerdictCounts counts{};
  for (const ChangeResult& one : results) ++counts[static_cast<size_t>(one.verdict)];
  return counts;
}

VerdictCounts count_all(const RunResults& results) {
  VerdictCounts all{};
  for (const auto& of_family : results.verdicts) {
    const VerdictCounts counts = count(of_family);
    for (size_t i = 0; i < kNumVerdicts; ++i) all[i] += counts[i];
  }
  return all;
}

size_t number(const VerdictCounts& counts, Change verdict) { return counts[static_cast<size_t>(verdict)]; }

ordered_json counts_json(const VerdictCounts& counts) {
  ordered_json object = ordered_json::object();
  for (size_t i = 0; i < kNumVerdicts; ++i) object[std::string(name(static_cast<Change>(i)))] = counts[i];
  return object;
}

std::string shape_line(const ShapeChange& shape, const ChangeResult& result) {
  std::string times = "||||";
  if (result.num_pairs > 0)
    times = fmt::format("| {:.2f} | {:.2f} | {:.3f}× | {:.3f} – {:.3f} ", geometric_mean(shape.before_us),
                        geometric_mean(shape.after_us), result.speedup, result.interval.low, result.interval.high);
  return fmt::format("| {} | {} {}| {} |\n", markdown_cell(short_shape(shape.problem)), name(result.verdict), times,
                     markdown_cell(shape.reason));
}

std::string family_text(const FamilyResult& family, const std::vector<ChangeResult>& verdicts) {
  std::string text = fmt::format("\n## {}\n\n", markdown_cell(family.family->op));
  if (!family.failure.empty()) text += fmt::format("Failed: {}\n\n", markdown_cell(family.failure));
  text += fmt::format("Rows: {} added, {} changed, {} removed, {} the same. Findings in the tables as they were: {}.\n",
                      family.num_added, family.num_changed, family.num_removed, family.num_same, family.num_findings);
  if (verdicts.empty()) return text;
  text +=
      "\n| shape | verdict | before, µs | after, µs | speed-up | interval | remark |\n|---|---|---|---|---|---|---|\n";
  for (size_t i = 0; i < verdicts.size(); ++i) text += shape_line(family.shapes[i], verdicts[i]);
  return text;
}

}  // namespace

void judge_run(RunResults& results, const ChangeOptions& change, int interrupt_status) {
  std::vector<ShapeChange> all;
  for (const FamilyResult& family : results.families) all.insert(all.end(), family.shapes.begin(), family.shapes.end());
  std::vector<ChangeResult> judged = judge(all, change);
  auto next = std::make_move_iterator(judged.begin());
  results.verdicts.clear();
  for (const FamilyResult& family : results.families) {
    const auto end = next + static_cast<std::ptrdiff_t>(family.shapes.size());
    results.verdicts.emplace_back(next, end);
    next = end;
  }
  const VerdictCounts counts = count_all(results);
  const auto is_of_machine = [](const FamilyResult& one) {
    return !one.unwritten.empty() || (one.code && exit_status(*one.code) >= 3);
  };
  const auto has_failed = [](const FamilyResult& one) { return !one.failure.empty(); };
  if (interrupt_status != 0)
    results.status = interrupt_status;
  else if (std::ranges::any_of(results.families, is_of_machine))
    results.status = 3;
  else if (std::ranges::any_of(results.families, has_failed) || number(counts, Change::slower) > 0 ||
           (!all.empty() && number(counts, Change::failed) == all.size()))
    results.status = 1;
  else
    results.status = 0;
}

ordered_json results_json(const RunResults& results, const ordered_json& inputs) {
  ordered_json families = ordered_json::array();
  for (size_t i = 0; i < results.families.size(); ++i) {
    const FamilyResult& family = results.families[i];
    ordered_json shapes = ordered_json::array();
    for (size_t s = 0; s < family.shapes.size(); ++s)
      shapes.push_back(verdict_json(family.shapes[s], results.verdicts[i][s]));
    families.push_back({{"family", family.family->op},
                        {"device", family.device},
                        {"done", family.is_done},
                        {"failure", family.failure},
                        {"num_findings", family.num_findings},
                        {"rows",
                         {{"added", family.num_added},
                          {"changed", family.num_changed},
                          {"removed", family.num_removed},
                          {"same", family.num_same}}},
                        {"counts", counts_json(count(results.verdicts[i]))},
                        {"shapes", shapes}});
  }
  return {{"version", 1},
          {"ending", results.ending},
          {"status", results.status},
          {"inputs", inputs},
          {"counts", counts_json(count_all(results))},
          {"families", families}};
}

std::string summary_text(const RunResults& results) {
  const VerdictCounts counts = count_all(results);
  std::string text = "# Tuning\n\n";
  if (results.ending == "interrupted") text += "The run was interrupted; the same call goes on with it.\n\n";
  for (size_t i = 0; i < kNumVerdicts; ++i)
    text += fmt::format("{}{} {}", i == 0 ? "Shapes: " : ", ", counts[i], name(static_cast<Change>(i)));
  text += ".\n";
  for (size_t i = 0; i < results.families.size(); ++i) text += family_text(results.families[i], results.verdicts[i]);
  if (text.size() <= kMaxSummaryBytes) return text;
  text.resize(text.rfind('\n', kMaxSummaryBytes) + 1);
  return text + "\nCut at 900 KB; results.json has all.\n";
}

}  // namespace attune
