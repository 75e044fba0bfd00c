// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/ban.h"
#include "core/record.h"

namespace attune {

using Entry = std::variant<Started, Record, Decision, Pardon, RunBegin, RunEnd, BanChange>;

/// Id, time and run of an entry.
struct Stamp {
  int64_t id = 0;     ///< Ascending in append order; never reused in a journal.
  int64_t at_ms = 0;  ///< Milliseconds since 1970, UTC; 0: unknown (an entry of schema 1).
  int64_t run = 0;    ///< Id of its RunBegin; 0: no run, or unknown.
  bool operator==(const Stamp&) const = default;
};

/// Selects entries; an unset field matches all.
struct Query {
  std::optional<Problem> problem;          ///< Filters neither pardons nor runs, which have none, nor bans.
  std::string problem_prefix;              ///< Start of a Problem::key(); filters as `problem` does.
  std::optional<std::string> device;       ///< DeviceInfo::key(). A ban of every device has none.
  std::optional<std::string> fingerprint;  ///< Filters neither pardons nor bans, which hold on every machine.
  /// Matches Records with the same measuring options, and Decisions that also have the same search options. Started,
  /// pardons and runs have no protocol.
  std::optional<Protocol> protocol;
  std::optional<int64_t> run;  ///< Only entries of this run, its RunBegin and RunEnd included.
  std::vector<Stage> stages;   ///< Only Records of one of these; filters nothing else.
  /// Only Records whose outcome, Decisions whose verdict and RunEnds whose ending has one of these names; nothing else.
  std::vector<std::string> statuses;
  int64_t after = 0;          ///< Only entries with a larger id: a cursor is the id of the last entry that was seen.
  int64_t before = 0;         ///< Only entries with a smaller id; 0: no bound.
  bool newest_first = false;  ///< If true, visits by descending id.
  size_t limit = 0;           ///< Maximum number of entries visited; 0: no limit.
  bool started = true, records = true, decisions = true, pardons = true, runs = false, bans = false;
};

/// Numbers of entries by kind.
struct EntryCounts {
  int64_t started = 0, records = 0, decisions = 0, pardons = 0, runs = 0;  ///< `runs`: those that began.
  bool operator==(const EntryCounts&) const = default;
};
/// Adds `number` entries of a kind, which is the index of its type in Entry.
void add(EntryCounts& counts, size_t kind, int64_t number);

/// Whether a query selects an entry, whatever its limit.
bool matches(const Query& query, const Entry& entry, const Stamp& stamp);

}  // namespace attune
