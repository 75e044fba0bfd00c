// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "store/journal.h"

namespace attune {

/// A run as a journal tells it.
struct RunRow {
  int64_t run = 0, begin_ms = 0, end_ms = 0;  ///< Times in ms since 1970; 0: unknown.
  std::string command, version, host;         ///< The command in one line.
  std::string device, fingerprint, description;
  std::string state = "open";  ///< Or how it ended.
  int64_t exit_status = 0;
  uint64_t num_decisions = 0, num_records = 0;
};

/// The runs of a journal. Entries may come in any order. Not thread-safe.
class RunIndex {
 public:
  /// Counts an entry of a run.
  void count(const EntryHeading& heading);
  /// Takes what a RunBegin or RunEnd says; ignores other entries.
  void add(const Entry& entry, const Stamp& stamp);

  /// The newest runs first, at most `limit`; `before`: only with smaller numbers, 0: all.
  std::vector<RunRow> newest(int64_t before, size_t limit) const;
  /// Null for an unknown one.
  const RunRow* find(int64_t run) const;

 private:
  std::map<int64_t, RunRow> runs_;
};

}  // namespace attune
