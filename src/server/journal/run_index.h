// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "store/journal.h"

namespace attune {

/// How many entries there were in the last minute.
class RecentCount {
 public:
  /// Counts an entry; they may come in any order.
  void add(int64_t at_ms);
  /// Entries a minute, of the last minute or of the time since `begin_ms`, if that is less. Times in ms since 1970.
  double a_minute(int64_t begin_ms, int64_t now_ms) const;

 private:
  struct Slot {
    int64_t number = 0;  ///< The time that it is of, in slots since 1970.
    uint64_t count = 0;
  };
  std::array<Slot, 8> slots_;
};

/// A run as a journal tells it.
struct RunRow {
  int64_t run = 0, begin_ms = 0, end_ms = 0;  ///< Times in ms since 1970; 0: unknown.
  std::string command, version, host;         ///< The command in one line.
  std::string device, fingerprint, description;
  std::string state = "open";  ///< Or how it ended.
  int64_t exit_status = 0;
  uint64_t num_problems = 0;  ///< RunBegin::num_problems.
  uint64_t num_decisions = 0, num_records = 0;
  uint64_t num_faster = 0;                   ///< Decisions with this verdict.
  uint64_t num_ratios = 0;                   ///< Decisions that have one.
  double sum_log_ratio = 0;                  ///< Over those: of the winner's speed over the default.
  int64_t last_ms = 0;                       ///< Time of its newest entry.
  RecentCount candidates;                    ///< Of candidates that were verified.
  std::map<std::string, uint64_t> failures;  ///< Of those, the ones that failed, by status.

  /// The seconds until the run's problems are decided, at the speed at which it has decided so far; nothing for one
  /// that has ended, has decided nothing yet, or has written nothing for ten minutes.
  std::optional<double> left_s(int64_t now_ms) const;
  /// Geometric mean of the ratios; nothing without one.
  std::optional<double> mean_ratio() const;
};

/// The runs of a journal. Entries may come in any order. Not thread-safe.
class RunIndex {
 public:
  /// Counts an entry of a run.
  void count(const EntryHeading& heading);
  /// Takes what a RunBegin, a RunEnd or a Decision says; ignores other entries.
  void add(const Entry& entry, const Stamp& stamp);

  /// The newest runs first, at most `limit`; `before`: only with smaller numbers, 0: all.
  std::vector<RunRow> newest(int64_t before, size_t limit) const;
  /// Null for an unknown one.
  const RunRow* find(int64_t run) const;

 private:
  std::map<int64_t, RunRow> runs_;
};

}  // namespace attune
