// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "dispatch/agreement/serving_report.h"

namespace attune {

/// What all processes of a group serve with from now on.
struct Agreement {
  std::optional<std::string> tables;     ///< Digest of the tables and bans; nothing: no rows serve.
  std::set<CommonKernel> kernels;        ///< That every process has compiled.
  std::set<std::string> failed;          ///< Recipes whose rows do not serve, because a process cannot compile them.
  std::set<WantedKernel> wanted;         ///< To be compiled by every process.
  std::vector<std::string> differences;  ///< Why rows do not serve, or new tables do not: one sentence each.
};

/// Computes it from the reports of all processes, in the order of their ranks, and from nothing else: every process
/// that has the same reports comes to the same agreement, whatever it served before. Requires: at least one report.
Agreement agree(std::span<const ServingReport> reports);

}  // namespace attune
