// SPDX-License-Identifier: MIT
#include "pipeline/finding.h"

#include <fmt/format.h>

namespace attune {
namespace {

struct KindNames {
  std::string_view name, title;
};
constexpr std::array<KindNames, kNumFindingKinds> kNamesOfKinds = {
    {{"unreadable", "unreadable"},
     {"missing_column", "missing column"},
     {"duplicate_key", "duplicate key"},
     {"unusable_time", "unusable time"},
     {"absurd_time", "absurd time"},
     {"below_roofline", "below the roofline"},
     {"wrong_tflops", "wrong tflops"},
     {"wrong_bw", "wrong bw"},
     {"too_many_errors", "too many errors"},
     {"unknown_kernel", "unknown kernel"},
     {"unreachable", "unreachable"},
     {"slower_than_padded", "slower than the padded row"}}};

}  // namespace

std::string_view name(FindingKind kind) noexcept { return kNamesOfKinds[static_cast<size_t>(kind)].name; }
std::string_view title(FindingKind kind) noexcept { return kNamesOfKinds[static_cast<size_t>(kind)].title; }

std::string TableFinding::place() const { return fmt::format("{}:{}", file, line); }

FindingCounts count_findings(std::span<const TableFinding> findings) noexcept {
  FindingCounts counts{};
  for (const TableFinding& one : findings) ++counts[static_cast<size_t>(one.kind)];
  return counts;
}

}  // namespace attune
