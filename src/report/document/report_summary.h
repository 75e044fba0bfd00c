// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstdint>
#include <string>

#include "report/document/model.h"

namespace attune {

/// The numbers that a report begins with.
struct ReportSummary {
  std::array<uint64_t, kNumReportVerdicts> num_changes{};  ///< Compared shapes, by verdict.
  uint64_t num_compared = 0, num_failed_families = 0;
  double change_mean = 1;  ///< Geometric mean of old time / new time; a shape that keeps its kernel counts as 1.

  uint64_t num_decided = 0, num_faster = 0, num_unfinished = 0;
  uint64_t num_without_default = 0;  ///< Decided shapes that no library serves.
  uint64_t num_with_ratio = 0;       ///< Decided shapes whose speed-up is known; the mean is over these.
  double mean = 1;                   ///< Geometric mean of the speed-ups over the defaults.
  Interval interval;                 ///< 95 %, of the mean: normal in the logs, from the intervals of the shapes.

  uint64_t num_candidates = 0, num_failures = 0;
  double seconds = 0;  ///< Spent on the decided problems.

  uint64_t number(ReportVerdict verdict) const { return num_changes[static_cast<size_t>(verdict)]; }
};
ReportSummary summarise(const ReportModel& model);

/// The results in one sentence or two.
std::string headline(const ReportModel& model, const ReportSummary& summary);
/// Verdict of a decision for people, as tables of winners have it.
std::string verdict_text(const ReportDecision& decision);

}  // namespace attune
