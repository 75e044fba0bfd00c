// SPDX-License-Identifier: MIT
#include "report/document/report_summary.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/text.h"
#include "report/result_table.h"

namespace attune {
namespace {

void add_changes(ReportSummary& summary, const ReportPipeline& pipeline) {
  double sum = 0;
  uint64_t num_known = 0;
  for (const ReportFamily& family : pipeline.families) {
    summary.num_failed_families += family.failure.empty() ? 0 : 1;
    for (const ReportChange& change : family.changes) {
      ++summary.num_compared;
      ++summary.num_changes[static_cast<size_t>(change.verdict)];
      if (change.verdict == ReportVerdict::failed || change.verdict == ReportVerdict::no_default) continue;
      ++num_known;
      if (change.speedup > 0) sum += std::log(change.speedup);
    }
  }
  if (num_known > 0) summary.change_mean = std::exp(sum / static_cast<double>(num_known));
}

void add_decisions(ReportSummary& summary, const std::vector<ReportDecision>& decisions) {
  double sum = 0, variance = 0;
  for (const ReportDecision& one : decisions) {
    summary.num_candidates += one.num_candidates;
    summary.seconds += one.seconds;
    if (one.verdict == Verdict::tie && one.incomplete) {
      ++summary.num_unfinished;
      continue;
    }
    ++summary.num_decided;
    summary.num_faster += one.verdict == Verdict::faster ? 1 : 0;
    summary.num_without_default += one.verdict == Verdict::no_default ? 1 : 0;
    if (!(one.ratio > 0) || !std::isfinite(one.ratio)) continue;
    ++summary.num_with_ratio;
    sum += std::log(one.ratio);
    if (one.interval.low > 0 && std::isfinite(one.interval.high) && one.interval.high > one.interval.low) {
      const double half = std::log(one.interval.high / one.interval.low) / 2;
      variance += half * half;
    }
  }
  if (summary.num_with_ratio == 0) return;
  const auto count = static_cast<double>(summary.num_with_ratio);
  summary.mean = std::exp(sum / count);
  const double half = std::sqrt(variance) / count;
  summary.interval = {std::exp(sum / count - half), std::exp(sum / count + half)};
}

std::string change_sentence(const ReportSummary& summary) {
  std::string text = counted(summary.num_compared, "shape") + " compared before and after";
  std::vector<std::string> counts;
  for (size_t i = 0; i < kNumReportVerdicts; ++i) {
    // Readers look for `slower`, so it is always shown; other verdicts only if a shape has them.
    if (summary.num_changes[i] > 0 || static_cast<ReportVerdict>(i) == ReportVerdict::slower)
      counts.push_back(fmt::format("{} {}", summary.num_changes[i], name(static_cast<ReportVerdict>(i))));
  }
  text += ": " + join(counts, ", ");
  if (summary.num_failed_families > 0) text += fmt::format("; {} of the families failed", summary.num_failed_families);
  return text + ".";
}

}  // namespace

ReportSummary summarise(const ReportModel& model) {
  ReportSummary summary;
  if (model.pipeline) add_changes(summary, *model.pipeline);
  add_decisions(summary, model.decisions);
  for (const ReportUndecided& one : model.undecided) summary.num_candidates += one.num_candidates;
  for (const ReportFailure& one : model.failures) summary.num_failures += one.count;
  return summary;
}

std::string headline(const ReportModel& model, const ReportSummary& summary) {
  std::string text;
  if (model.pipeline) {
    text = change_sentence(summary) + " ";
    if (model.pipeline->ending == "interrupted") text += "The run was interrupted; the same call goes on with it. ";
  }
  if (summary.num_decided == 0) {
    text += model.decisions.empty() ? "No shape was decided" : "No shape is decided yet";
  } else {
    const uint64_t num_at_default = summary.num_decided - summary.num_faster - summary.num_without_default;
    text += fmt::format(
        "{} decided: {} faster than the default{}{}", counted(summary.num_decided, "shape"), summary.num_faster,
        num_at_default > 0 ? fmt::format(", {} at the default", num_at_default) : "",
        summary.num_without_default > 0 ? fmt::format(", {} without a default", summary.num_without_default) : "");
    if (summary.num_with_ratio > 0) text += fmt::format("; geometric mean {:.3f}×", summary.mean);
  }
  const uint64_t num_open = summary.num_unfinished + model.undecided.size();
  if (num_open > 0) text += fmt::format("; {} left undecided", counted(num_open, "shape"));
  return text + ".";
}

std::string verdict_text(const ReportDecision& decision) {
  std::string text = short_verdict(decision.verdict);
  if (decision.noisy) text += ", noisy";
  if (decision.incomplete) text += ", incomplete";
  return text;
}

}  // namespace attune
