// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "core/record.h"
#include "store/journal.h"
#include "tuner/history/candidate_history.h"

namespace attune {

/// The state of a problem after earlier runs: it is decided, a table's row is kept, or it is measured.
struct DecisionRecall {
  std::optional<Decision> decision;  ///< Final, and of the present binaries: it is used again.
  bool keeps_row = false;            ///< No newer result: a table's row stays as it is.
};

/// `has_row`: a table has a usable row of the problem. `is_of_these_binaries`: whether the candidates that a Decision
/// would publish were verified with the present binaries; it may compile. A Decision is made again if it is of other
/// binaries, incomplete, under shorter deadlines, or older than a pardon.
DecisionRecall recall_decision(const Journal& journal, const CandidateHistory::Source& place, const Versions& versions,
                               bool has_row, const std::function<bool(const Decision&)>& is_of_these_binaries);

/// Returns the keys of the problems for which the journal has a Decision on the device, whether or not it stands.
/// About 2 µs a Decision.
std::set<std::string> problems_with_decisions(const Journal& journal, const std::string& fingerprint);

}  // namespace attune
