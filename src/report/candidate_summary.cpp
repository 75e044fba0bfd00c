// SPDX-License-Identifier: MIT
#include "report/candidate_summary.h"

#include <fmt/format.h>

#include "report/result_json.h"
#include "search/prune.h"
#include "solver/static/static_contenders.h"

namespace attune {
namespace {

void add(CandidateSummary& summary, const std::string& reason, const std::string& example, uint64_t count = 1) {
  const auto [entry, is_new] = summary.reasons.try_emplace(reason, CandidateSummary::Reason{0, example});
  entry->second.count += count;
}

std::string reason_of(const Record& record) {
  const Outcome& outcome = record.outcome;
  if (!outcome.ok())
    return fmt::format("failed: {}{}", name(outcome.status),
                       outcome.detail.empty() ? "" : fmt::format(" ({})", outcome.detail));
  if (record.dropped) return "slower in the race";
  return record.stage == Stage::final ? "a finalist" : "verified";
}

}  // namespace

CandidateSummary summarise_candidates(const Problem& problem, const DeviceInfo& device, const std::string& device_flags,
                                      std::span<const Contender> contenders, const Journal* journal) {
  CandidateSummary summary;
  for (const Contender& contender : contenders) {
    if (!contender.support.yes) {
      const std::string_view what = is_known_on_device_only(contender) ? "not known here: " : kNotForProblem;
      add(summary, fmt::format("{}{} {}", what, contender.solver, contender.support.reason), contender.solver);
      continue;
    }
    const auto pruned = prune(contender.space, problem, device, 0);
    for (const Rule& rule : contender.space.search_rules()) {
      if (const uint64_t rejected = pruned.num_rejected_by(rule.id); rejected > 0)
        add(summary,
            fmt::format("excluded by rule {}{}: {}", rule.id, pruned.sampled ? " in a sample" : "", rule.reason),
            contender.solver, rejected);
    }
  }
  if (journal == nullptr) return summary;
  std::map<std::string, std::string> last;  // Reason, by candidate.
  summary.num_damaged = journal->scan({.problem = problem, .device = device.key(), .started = false, .pardons = false},
                                      [&](const Entry& entry, const Stamp&) {
                                        if (const auto* decision = std::get_if<Decision>(&entry))
                                          summary.decision = *decision;
                                        if (const auto* record = std::get_if<Record>(&entry))
                                          last[record->candidate.name()] = reason_of(*record);
                                      });
  for (const auto& [candidate, reason] : last)
    add(summary, reason, repeat_command(problem, Candidate::parse(candidate), device_flags));
  return summary;
}

}  // namespace attune
