// SPDX-License-Identifier: MIT
#include "report/document/model.h"

#include <algorithm>
#include <array>

namespace attune {
namespace {

constexpr std::array<std::string_view, kNumReportVerdicts> kVerdictNames = {"same", "faster", "slower", "ambiguous",
                                                                            "failed"};

}  // namespace

std::string_view name(ReportVerdict verdict) noexcept { return kVerdictNames[static_cast<size_t>(verdict)]; }

std::optional<ReportVerdict> parse_report_verdict(std::string_view text) noexcept {
  const auto found = std::find(kVerdictNames.begin(), kVerdictNames.end(), text);
  if (found == kVerdictNames.end()) return std::nullopt;
  return static_cast<ReportVerdict>(found - kVerdictNames.begin());
}

}  // namespace attune
