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
  /// Devices whose peaks and bandwidth are known; they count for results with their fingerprint.
  std::span<const DeviceInfo> devices;
  int64_t after = 0;        ///< Only entries with a larger id.
  int64_t max_entries = 0;  ///< Only so many of the newest entries are read; 0: all.
};

/// Reads what a journal knows, in one pass: for each problem, device and requirement the newest decision. Memory grows
/// with the number of problems, not of entries: some kilobytes a problem. Reading takes about 70 µs an entry, as
/// Journal::scan() does. Entries that are damaged are counted. Throws like Journal::scan().
ReportModel model_of(const Journal& journal, const JournalModelOptions& options);

}  // namespace attune
