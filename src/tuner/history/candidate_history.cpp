// SPDX-License-Identifier: MIT
#include "tuner/history/candidate_history.h"

#include <algorithm>
#include <set>

namespace attune {
namespace {

/// True if an earlier run's outcome still holds. A launch may have failed for lack of a resource, which libraries do
/// not report.
bool is_lasting(const Record& record, const Deadlines& present) {
  const Status status = record.outcome.status;
  if (status == Status::timed_out) return record.deadlines.cover(present);
  return !is_transient(status) && status != Status::launch_failed;
}

}  // namespace

void CandidateHistory::recall(const Journal& journal, const Source& place,
                              const std::function<const Versions*(const std::string& solver)>& versions_of) {
  const Query query{.problem = place.problem,
                    .device = place.device,
                    .fingerprint = place.fingerprint,
                    .protocol = place.protocol,
                    .after = place.after,
                    .started = false,
                    .decisions = false};
  journal.scan(query, [&](const Entry& entry, const Stamp&) {
    if (const auto* pardon = std::get_if<Pardon>(&entry)) {
      const auto found = results_.find(pardon->candidate.name());
      if (found == results_.end()) return;
      std::erase_if(found->second, [](const Result& one) { return !one.verified.ok(); });
      if (found->second.empty()) results_.erase(found);
      return;
    }
    const auto& record = std::get<Record>(entry);
    const Versions* present = versions_of(record.candidate.solver);
    // Drifted results are verified again, too: a driver or compiler may have changed what the candidate computes.
    if (present == nullptr || compare(record.versions, *present) != Age::current) return;
    if (record.stage == Stage::verify && !is_lasting(record, place.deadlines)) return;
    if (record.stage == Stage::screen && !place.with_screening) return;
    take(record);
  });
  // Ignore a screening without a verification of the same binaries.
  for (auto& [name, results] : results_)
    std::erase_if(results, [](const Result& one) { return one.verified.status == Status::cancelled; });
  std::erase_if(results_, [](const auto& one) { return one.second.empty(); });
}

void CandidateHistory::take(const Record& record) {
  Result& result = at(record.candidate, record.binaries);
  if (record.stage == Stage::verify) result.verified = record.outcome;
  if (record.stage != Stage::screen) return;
  result.screened = true;
  result.dropped = record.dropped;
  if (!record.outcome.measurement) return;
  const Measurement& measurement = *record.outcome.measurement;
  result.median_us = measurement.median_us;
  result.spread = spread_of(measurement);
  result.num_samples = static_cast<uint32_t>(measurement.samples.size());
  result.workspace_bytes = measurement.workspace_bytes;
}

Trial CandidateHistory::Result::trial() const {
  return {.status = verified.status, .median_us = median_us, .spread = spread, .num_samples = num_samples};
}

std::vector<std::pair<Candidate, Trial>> CandidateHistory::trials() const {
  std::vector<std::pair<Candidate, Trial>> trials;
  for (const auto& [name, results] : results_) trials.emplace_back(Candidate::parse(name), results.back().trial());
  return trials;
}

CandidateHistory::Result& CandidateHistory::at(const Candidate& candidate,
                                               const std::vector<BinaryIdentity>& binaries) {
  auto& results = results_[candidate.name()];
  const auto found =
      std::find_if(results.begin(), results.end(), [&](const Result& one) { return one.binaries == binaries; });
  if (found != results.end()) return *found;
  return results.emplace_back(Result{.binaries = binaries, .verified = {.status = Status::cancelled}});
}

const CandidateHistory::Result* CandidateHistory::find(const Candidate& candidate,
                                                       const std::vector<BinaryIdentity>& binaries) const {
  const auto named = results_.find(candidate.name());
  if (named == results_.end()) return nullptr;
  const auto found = std::find_if(named->second.begin(), named->second.end(),
                                  [&](const Result& one) { return one.binaries == binaries; });
  return found == named->second.end() ? nullptr : &*found;
}

void CandidateHistory::set_verified(const Candidate& candidate, const std::vector<BinaryIdentity>& binaries,
                                    const Outcome& outcome) {
  at(candidate, binaries).verified = outcome;
}

namespace {

/// Whether a lifted ban may have kept the problem from a candidate: one of a solver that was tried for it, or of a
/// whole solver.
bool may_concern(const Ban& ban, const CandidateHistory::Source& place, const std::set<std::string>& solvers) {
  if (!ban.problem.empty() && ban.problem != place.problem.key()) return false;
  const size_t end_of_solver = ban.candidate.find('@');
  return end_of_solver == std::string::npos || solvers.contains(ban.candidate.substr(0, end_of_solver));
}

}  // namespace

bool has_pardon_since_decision(const Journal& journal, const CandidateHistory::Source& place) {
  Query query{.problem = place.problem,
              .device = place.device,
              .fingerprint = place.fingerprint,
              .protocol = place.protocol,
              .started = false,
              .records = false,
              .decisions = false,
              .bans = true};
  bool has_pardon = false;
  journal.scan(query, [&](const Entry&, const Stamp&) { has_pardon = true; });
  if (!has_pardon) return false;
  query.records = query.decisions = true;
  std::set<std::string> failed, solvers;
  bool found = false;
  journal.scan(query, [&](const Entry& entry, const Stamp&) {
    if (const auto* record = std::get_if<Record>(&entry)) {
      solvers.insert(record->candidate.solver);
      if (!record->outcome.ok()) failed.insert(record->candidate.name());
    } else if (const auto* pardon = std::get_if<Pardon>(&entry)) {
      found = found || failed.contains(pardon->candidate.name());
    } else if (const auto* change = std::get_if<BanChange>(&entry)) {
      found = found || (change->lifted && may_concern(change->ban, place, solvers));
    } else {
      found = false;
    }
  });
  return found;
}

}  // namespace attune
