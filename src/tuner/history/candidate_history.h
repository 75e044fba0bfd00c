// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/record.h"
#include "search/strategy/trial.h"
#include "store/journal.h"

namespace attune {

/// Known results of one problem's candidates on one device, from the journal and from the current run. A result belongs
/// to the binaries that it was measured with: a kernel of another compiler is another candidate, even with the same
/// name. Not thread-safe.
class CandidateHistory {
 public:
  /// Outcome of the verification and, if the race is over for the candidate, how its race ended.
  struct Result {
    std::vector<BinaryIdentity> binaries;
    Outcome verified;
    bool screened = false, dropped = false;
    double median_us = 0;
    double spread = 0;  ///< As in Trial.
    uint32_t num_samples = 0;
    uint64_t workspace_bytes = 0;
    /// Returns the trial that a strategy is told; the index is not set.
    Trial trial() const;
  };
  /// Conditions under which an earlier result is reused; it must share them with this run.
  struct Source {
    Problem problem;
    std::string device, fingerprint;
    Protocol protocol;
    Deadlines deadlines;         ///< Deadlines of this run; a time-out under shorter ones does not count.
    bool with_screening = true;  ///< False: only verifications count (an exhaustive search times everything).
    int64_t after = 0;           ///< Only entries of the journal after this one count (Stamp::id).
  };

  /// Reads the journal's records for this place that were made with exactly the present versions. `versions_of` returns
  /// the versions of a solver by its id, or null if the solver does not take part.
  void recall(const Journal& journal, const Source& place,
              const std::function<const Versions*(const std::string& solver)>& versions_of);
  /// Result of a candidate with these binaries; null if unknown.
  const Result* find(const Candidate& candidate, const std::vector<BinaryIdentity>& binaries) const;
  /// True if any result is known under this name, with any binaries.
  bool has(const Candidate& candidate) const { return results_.contains(candidate.name()); }
  /// Every candidate with its result. If a name has several binaries, the one whose first result is the newest.
  std::vector<std::pair<Candidate, Trial>> trials() const;
  void set_verified(const Candidate& candidate, const std::vector<BinaryIdentity>& binaries, const Outcome& outcome);

 private:
  void take(const Record& record);
  Result& at(const Candidate& candidate, const std::vector<BinaryIdentity>& binaries);
  std::map<std::string, std::vector<Result>> results_;  ///< By Candidate::name().
};

/// True if a failed candidate was removed from quarantine after the last Decision: it may be the best, so the problem
/// is decided again. Also true after the end of a ban that may have kept a candidate from the problem. Costs one index
/// lookup if the journal holds neither.
bool has_pardon_since_decision(const Journal& journal, const CandidateHistory::Source& place);

}  // namespace attune
