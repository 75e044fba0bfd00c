// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "attune/problem.h"
#include "core/device_info.h"
#include "solver/contender.h"
#include "store/journal.h"

namespace attune {

/// Begins the reasons of solvers that do not apply.
inline constexpr std::string_view kNotForProblem = "not for this problem: ";

/// The outcomes of a problem's candidates, counted.
struct CandidateSummary {
  struct Reason {
    uint64_t count = 0;
    std::string example;  ///< A solver, or a command that repeats the first candidate.
  };
  std::map<std::string, Reason> reasons;  ///< By a sentence such as `slower in the race`.
  std::optional<Decision> decision;       ///< The last one in the journal.
  size_t num_damaged = 0;                 ///< Damaged entries of the journal, which are skipped.
};

/// Counts what the solvers and the rules of their spaces exclude, and the outcomes in the journal (null: none), where
/// each candidate counts once, with its last record. `device_flags`: of the device, for the examples
/// (device/devices.h).
CandidateSummary summarise_candidates(const Problem& problem, const DeviceInfo& device, const std::string& device_flags,
                                      std::span<const Contender> contenders, const Journal* journal);

}  // namespace attune
