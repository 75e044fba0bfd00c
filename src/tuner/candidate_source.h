// SPDX-License-Identifier: MIT
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/candidate.h"
#include "measure/executor.h"
#include "search/strategy/strategy.h"
#include "tuner/tuner_options.h"
#include "tuner/work_item.h"

namespace attune {

/// Candidates that a search starts from.
struct StartingPoints {
  std::optional<Candidate> incumbent;
  std::vector<Candidate> neighbours;  ///< Winners of similar problems, nearest first.
};

/// The candidates of one problem over all its contenders, in the order in which they should be tried: the untuned
/// configs (the family's baselines first), the incumbent, then the requests of each contender's strategy in turn.
class CandidateSource {
 public:
  CandidateSource(const WorkItem& item, const DeviceInfo& device, std::vector<Contender> contenders,
                  const TunerOptions& options, const StartingPoints& start);

  /// Untuned candidates in the order of the family's baselines, followed by those of the other solvers.
  const std::vector<Candidate>& untuned() const noexcept { return untuned_; }
  /// The incumbent, if its solver takes part with the version of the row.
  const std::optional<Candidate>& incumbent() const noexcept { return incumbent_; }
  /// Returns up to `max_count` further candidates, each once; none if nothing is left for now.
  std::vector<Candidate> ask(size_t max_count);
  void tell(const Candidate& candidate, Status status, double median_us);
  bool exhausted() const;
  const Versions& versions() const noexcept { return versions_; }
  /// Versions of one solver, on which the records of its candidates depend. Null if it does not take part.
  const Versions* versions_of(const std::string& solver) const;
  /// Contenders that were excluded, and the reason: one line per solver.
  const std::vector<std::string>& refusals() const noexcept { return refusals_; }

 private:
  struct Lane {
    Contender contender;
    std::unique_ptr<Strategy> strategy;
  };
  std::vector<Lane> lanes_;
  std::vector<Candidate> untuned_;
  std::optional<Candidate> incumbent_;
  Versions versions_;
  std::vector<std::string> refusals_;
  size_t next_lane_ = 0;
  bool split_k_ = true;
};

}  // namespace attune
