// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "core/device_info.h"
#include "report/document/model.h"
#include "store/journal.h"

namespace attune {

struct JournalModelOptions {
  std::optional<int64_t> run;      ///< Only entries of this run.
  std::set<std::string> problems;  ///< Only these keys; empty: all.
  std::string device;              ///< Only entries of this device's key; empty: of all.
  /// Devices whose peaks and bandwidth are known; they count for results with their fingerprint.
  std::span<const DeviceInfo> devices;
  /// Only entries with a larger id; of `problems` that are not decided there, the newest earlier decision, too.
  int64_t after = 0;
};

/// Reads a journal: for each problem, device and requirement the newest decision. Memory grows with the number of
/// problems, not of entries: some kilobytes a problem. Takes as long as Journal::visit_outcomes() of all records and
/// Journal::scan() of the decisions. Counts damaged entries. Throws like Journal::scan().
ReportModel model_of(const Journal& journal, const JournalModelOptions& options);

}  // namespace attune
