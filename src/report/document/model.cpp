// SPDX-License-Identifier: MIT
#include "report/document/model.h"

#include <algorithm>
#include <array>

namespace attune {
namespace {

constexpr std::array<std::string_view, kNumReportVerdicts> kReportVerdictNames = {"same",      "faster",     "slower",
                                                                                  "ambiguous", "no_default", "failed"};

}  // namespace

std::string_view name(ReportVerdict verdict) noexcept { return kReportVerdictNames[static_cast<size_t>(verdict)]; }

std::optional<ReportVerdict> parse_report_verdict(std::string_view text) noexcept {
  const auto found = std::find(kReportVerdictNames.begin(), kReportVerdictNames.end(), text);
  if (found == kReportVerdictNames.end()) return std::nullopt;
  return static_cast<ReportVerdict>(found - kReportVerdictNames.begin());
}

}  // namespace attune
