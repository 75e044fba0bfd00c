// SPDX-License-Identifier: MIT
#include "dispatch/agreement/agreement.h"

#include <fmt/format.h>

#include <algorithm>

namespace attune {
namespace {

/// The first rank whose member is not that of rank 0; 0: all are equal.
size_t first_other(std::span<const ServingReport> reports, std::string ServingReport::*member) {
  for (size_t rank = 1; rank < reports.size(); ++rank) {
    if (reports[rank].*member != reports.front().*member) return rank;
  }
  return 0;
}

/// Sets the tables, and what differs.
void agree_on_tables(std::span<const ServingReport> reports, Agreement& agreed) {
  if (const size_t other = first_other(reports, &ServingReport::settings); other != 0) {
    agreed.differences.push_back(fmt::format("no rows serve, because rank {} runs with {}, rank 0 with {}", other,
                                             reports[other].settings, reports.front().settings));
    return;
  }
  const size_t other = first_other(reports, &ServingReport::waiting);
  if (other == 0) {
    agreed.tables = reports.front().waiting;
    return;
  }
  const bool keeps = first_other(reports, &ServingReport::serving) == 0 && !reports.front().serving.empty();
  if (keeps) agreed.tables = reports.front().serving;
  agreed.differences.push_back(fmt::format("{}, because rank {} reads other tables or bans than rank 0",
                                           keeps ? "changed tables wait" : "no rows serve", other));
}

}  // namespace

Agreement agree(std::span<const ServingReport> reports) {
  Agreement agreed;
  agree_on_tables(reports, agreed);
  const bool keeps_tables = std::all_of(reports.begin(), reports.end(), [&](const ServingReport& one) {
    return one.serving == agreed.tables.value_or("");
  });
  agreed.kernels.insert(reports.front().kernels.begin(), reports.front().kernels.end());
  for (const ServingReport& report : reports) {
    const std::set<CommonKernel> own(report.kernels.begin(), report.kernels.end());
    std::erase_if(agreed.kernels, [&](const CommonKernel& one) { return !own.contains(one); });
    // A kernel is tried again when the tables change, as without a group.
    if (keeps_tables) agreed.failed.insert(report.failed.begin(), report.failed.end());
    agreed.wanted.insert(report.wanted.begin(), report.wanted.end());
  }
  std::erase_if(agreed.kernels, [&](const CommonKernel& one) { return agreed.failed.contains(one.recipe); });
  return agreed;
}

}  // namespace attune
