// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "core/candidate.h"
#include "measure/executor.h"
#include "search/strategy/search_task.h"
#include "search/strategy/solver_allocator.h"
#include "search/strategy/strategy.h"
#include "tuner/problem/candidate_search.h"
#include "tuner/problem/work_item.h"
#include "tuner/tuner_options.h"

namespace attune {

/// Candidates that a search starts from.
struct StartingPoints {
  std::optional<Candidate> incumbent;
  std::vector<Candidate> neighbours;  ///< Winners of similar problems, nearest first.
};

/// The candidates of one problem over all its contenders, in the order in which they should be tried. First come the
/// default configs (the family's baselines first), the libraries' recommendations and the incumbent. Then come the
/// requests of each contender's strategy, as the allocator of TunerOptions divides them: together as many as the
/// strategies plan for.
class CandidateSource final : public CandidateSearch {
 public:
  /// Costs nothing that grows with the spaces.
  CandidateSource(const WorkItem& item, const DeviceInfo& device, std::vector<Contender> contenders,
                  const TunerOptions& options, const StartingPoints& start);
  /// Makes the domains and the strategies, which is the search's own cost: about 1 µs for each config and rule of the
  /// spaces that are enumerated. Call it once, before ask(), tell() and exhausted(). Throws like Domain, and
  /// invalid_input for an unknown strategy.
  void begin(const PriorKnowledge& known) override;

  /// Default configs in the order of the family's baselines, then the other solvers'.
  const std::vector<Candidate>& defaults() const noexcept { return defaults_; }
  /// The libraries' recommendations other than their default configs, in the order of defaults(). If every default
  /// config is wrong, the first correct recommendation is the baseline.
  const std::vector<Candidate>& recommended() const noexcept { return recommended_; }
  /// The incumbent, if its solver takes part with the version of the row.
  const std::optional<Candidate>& incumbent() const noexcept { return incumbent_; }
  std::vector<Candidate> ask(size_t max_count) override;
  /// Ignores a candidate of no contender.
  void tell(const Candidate& candidate, Trial trial) override;
  bool exhausted() const;
  /// The Ban of a candidate for this problem and device; null: it may be tried.
  const Ban* ban_of(const Candidate& candidate) const { return ban_of_kernel(candidate.name()); }
  /// What limited the strategies' searches, each a sentence after its solver's id, and which bans excluded candidates.
  std::vector<std::string> remarks() const;
  /// Costs of one candidate, by solver, from the trials told; before those, from PriorKnowledge.
  std::map<std::string, Costs> costs() const;
  const Versions& versions() const noexcept { return versions_; }
  /// Versions of one solver, on which the records of its candidates depend. Null if it does not take part.
  const Versions* versions_of(const std::string& solver) const;
  /// Contenders that were excluded, and the reason: one line per solver.
  const std::vector<std::string>& refusals() const noexcept { return refusals_; }

 private:
  /// The search of one contender's configs.
  struct SolverSearch {
    Contender contender;
    StrategyOptions options;
    std::vector<uint64_t> start;
    std::unique_ptr<Strategy> strategy;    ///< Null before begin().
    std::unordered_set<uint64_t> counted;  ///< Indices that were asked for or told.
  };
  /// The task without its costs.
  SearchTask task_of(const SolverSearch& search, const PriorKnowledge& known) const;
  const Ban* ban_of_kernel(std::string_view kernel) const { return bans_->find(kernel, device_.key(), problem_.key()); }
  bool is_refused(const Candidate& candidate);
  void tell_search(size_t search, const Trial& trial);
  void count(SolverSearch& search, uint64_t index);

  Problem problem_;
  DeviceInfo device_;
  decltype(TunerOptions::make_strategy) make_strategy_;
  std::unique_ptr<SolverAllocator> allocator_;
  bool split_k_;
  std::shared_ptr<const BanList> bans_;
  std::map<const Ban*, uint64_t> num_banned_;  ///< How often each ban excluded a candidate.
  std::vector<SolverSearch> searches_;
  std::vector<SolverState> states_;  ///< States of searches_, in their order.
  bool has_begun_ = false;
  uint64_t num_left_ = 0;  ///< Candidates that all searches together may still ask for.
  std::vector<Candidate> defaults_, recommended_;
  std::optional<Candidate> incumbent_;
  Versions versions_;
  std::vector<std::string> refusals_;
};

}  // namespace attune
