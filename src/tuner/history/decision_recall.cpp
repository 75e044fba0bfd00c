// SPDX-License-Identifier: MIT
#include "tuner/history/decision_recall.h"

#include <utility>

namespace attune {
namespace {

/// The newest decision that Journal::decision() would find among the later entries.
std::optional<Decision> decision_after(const Journal& journal, const CandidateHistory::Source& place,
                                       const Versions& versions) {
  std::optional<Decision> found;
  const Query query{.problem = place.problem,
                    .fingerprint = place.fingerprint,
                    .protocol = place.protocol,
                    .after = place.after,
                    .started = false,
                    .records = false,
                    .pardons = false};
  journal.scan(query, [&](const Entry& entry, const Stamp&) {
    const auto& decision = std::get<Decision>(entry);
    if (compare(decision.versions, versions) == Age::current) found = decision;
  });
  return found;
}

}  // namespace

DecisionRecall recall_decision(const Journal& journal, const CandidateHistory::Source& place, const Versions& versions,
                               bool has_row, const std::function<bool(const Decision&)>& is_of_these_binaries) {
  auto decision = place.after > 0 ? decision_after(journal, place, versions)
                                  : journal.decision(place.problem, place.fingerprint, versions, place.protocol);
  if (!decision) return {{}, has_row};
  // A row whose Decision was made with other binaries is decided again.
  if (!is_of_these_binaries(*decision)) return {};
  const bool is_final = !decision->incomplete && decision->deadlines.cover(place.deadlines);
  if (is_final && !has_pardon_since_decision(journal, place)) return {std::move(decision), false};
  return {};
}

std::set<std::string> problems_with_decisions(const Journal& journal, const std::string& fingerprint) {
  std::set<std::string> keys;
  const Query decisions{.fingerprint = fingerprint, .started = false, .records = false, .pardons = false};
  journal.visit_headings(decisions, [&](const EntryHeading& decision) { keys.insert(decision.problem); });
  return keys;
}

}  // namespace attune
