// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/record.h"
#include "store/journal.h"

namespace attune {

/// What is known of one problem's candidates on one device: from the journal, and from the run that goes on. A result
/// belongs to the binaries that it was found with: under the same name another compiler's kernel is another candidate.
/// One thread.
class CandidateHistory {
 public:
  /// Outcome of the verification and, when the race is over for it, how that ended.
  struct Result {
    std::vector<BinaryIdentity> binaries;
    Outcome verified;
    bool screened = false, dropped = false;
    double median_us = 0;
    uint64_t workspace_bytes = 0;
  };
  /// What an earlier result must share with this run to be reused.
  struct Source {
    Problem problem;
    std::string device, fingerprint;
    Protocol protocol;
    Deadlines deadlines;         ///< A time-out under shorter ones says nothing here.
    bool with_screening = true;  ///< False: only verifications count (an exhaustive search times everything).
  };

  /// Takes in the journal's records of this place that were made with exactly the present versions. `versions_of`:
  /// of a solver by its id, null when it does not take part.
  void recall(const Journal& journal, const Source& place,
              const std::function<const Versions*(const std::string& solver)>& versions_of);
  /// Null: not known with these binaries.
  const Result* find(const Candidate& candidate, const std::vector<BinaryIdentity>& binaries) const;
  /// Whether anything is known under this name, with whatever binaries.
  bool has(const Candidate& candidate) const { return results_.contains(candidate.name()); }
  void set_verified(const Candidate& candidate, const std::vector<BinaryIdentity>& binaries, const Outcome& outcome);

 private:
  void take(const Record& record);
  Result& at(const Candidate& candidate, const std::vector<BinaryIdentity>& binaries);
  std::map<std::string, std::vector<Result>> results_;  ///< By Candidate::name().
};

}  // namespace attune
