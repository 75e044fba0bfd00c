// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/candidate.h"
#include "search/strategy/trial.h"

namespace attune {

/// Results that are known before a search begins.
struct PriorKnowledge {
  std::vector<std::pair<Candidate, Trial>>
      trials;                          ///< Trials of earlier runs, for this problem; their indices are not set.
  std::map<std::string, Costs> costs;  ///< Costs of one candidate of a solver, by its id, in another problem.
};

/// Names the candidates of one problem and is told their times. CandidateSource is one. Not thread-safe.
class CandidateSearch {
 public:
  virtual ~CandidateSearch() = default;
  /// Called once, before the others.
  virtual void begin(const PriorKnowledge& known) = 0;
  /// Returns up to `max_count` further candidates, each once; none if nothing is left for now.
  virtual std::vector<Candidate> ask(size_t max_count) = 0;
  /// Reports a candidate's result; the trial's index need not be set.
  virtual void tell(const Candidate& candidate, Trial trial) = 0;
};

}  // namespace attune
