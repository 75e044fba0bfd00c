// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/candidate.h"
#include "core/outcome.h"
#include "core/record.h"
#include "core/time_use.h"

namespace attune {

/// How a problem ended.
enum class Ending : uint8_t {
  decided,      ///< A Decision was made in this run.
  reused,       ///< The journal had a Decision.
  kept,         ///< A table has its row, and the journal has no newer result.
  refused,      ///< It cannot run on this machine (too large …).
  unsupported,  ///< No solver supports it, or every candidate failed.
  cut,          ///< Budget, --timeout or interrupt before the finals ended: no row.
  shortlisted,  ///< The race has ended; only a short list was wanted.
};
std::string_view name(Ending ending) noexcept;

/// A candidate that survived the race.
struct ShortListEntry {
  Candidate candidate;
  double us = 0;  ///< Median of its launches in the race.
  uint64_t workspace_bytes = 0;
};

/// A candidate whose kernels are not built, on a machine without their compiler.
struct UnbuiltCandidate {
  Problem problem;  ///< The result's, or a part of it.
  Candidate candidate;
};

struct TuneResult {
  Problem problem;
  std::string device;  ///< Id of the device that it ran on.
  Ending ending = Ending::unsupported;
  std::string reason;  ///< One sentence; empty if decided, reused or shortlisted.
  /// If cut: the device had too little free memory, so a run at another time may decide the problem.
  bool lacks_memory = false;
  /// If cut: kernels are not built, and without them it would have no result, or a wrong one.
  bool lacks_kernels = false;
  std::optional<Decision> decision;
  std::vector<ShortListEntry> short_list;  ///< For Goal::short_list.
  size_t num_candidates = 0;
  std::vector<std::pair<Candidate, Outcome>> failures;  ///< In this run or an earlier one.
  std::vector<UnbuiltCandidate> unbuilt;  ///< They are among the failures, too. At most kMaxUnbuilt of a search.
  /// Limits that solvers' searches met, each a sentence after the solver's id.
  std::vector<std::string> remarks;
  double seconds = 0;
  TimeUse time;       ///< How `seconds` were spent.
  Versions versions;  ///< Versions of the solvers that took part.
};

/// A search ends with the measured candidates once it wanted so many without kernels.
inline constexpr size_t kMaxUnbuilt = 32;

/// Whether the problem is decided, by this run or an earlier one. An unfinished tie is not: the next run continues it.
bool is_decided(const TuneResult& result) noexcept;

}  // namespace attune
