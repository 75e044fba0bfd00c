// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "server/journal/metric.h"
#include "store/journal.h"

namespace attune {

/// Sums over a journal, for monitoring.
class JournalTotals {
 public:
  void add(const EntryHeading& heading);
  void add(const Decision& decision);

  /// Names and labels are an interface: docs/serve.md. `journal_bytes`: size of the file.
  std::vector<Metric> metrics(uint64_t journal_bytes) const;

 private:
  /// Verified candidates, by status and solver.
  std::map<std::pair<std::string, std::string>, uint64_t> candidates_;
  std::map<std::string, uint64_t> problems_;  ///< By verdict.
  std::map<std::string, uint64_t> endings_;   ///< Of runs.
  uint64_t num_runs_ = 0, num_deaths_ = 0, num_launches_ = 0;
  double best_ratio_ = 0;
};

}  // namespace attune
