// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "base/clock.h"
#include "core/device_info.h"
#include "fleet/agent/fleet_work.h"
#include "solver/contender.h"
#include "solver/registry.h"
#include "store/fleet/job_queue.h"
#include "tuner/kernels.h"
#include "tuner/tuner_options.h"

namespace attune {

struct CompileJobsOptions {
  ClaimFilter filter;  ///< Compile steps.
  /// The session's solvers of each op, for jobs of all solvers; without an entry all of this program take part.
  std::map<std::string, std::vector<std::string>, std::less<>> solvers = {};
  TunerOptions how;  ///< Options of the search, whose first questions are compiled.
  /// Winners of similar problems, nearest first; empty: none are known.
  std::function<std::vector<Candidate>(const Problem&)> neighbours;
  std::function<void(const EndedJob&)> on_job;
  /// Whether the run waits for a store that is away; empty: it never is.
  std::function<bool()> waits_for_store;
  /// Whether a solver that this machine cannot open counts as a library, which has nothing to compile.
  bool skips_unavailable = false;
  /// Above 0: waits while other agents hold jobs, which come back if these agents are lost, and while agents without a
  /// compiler search; so long for their next search.
  double max_wait_s = 0;
  /// Whether another agent is known to have ended, so that its leases need not expire; empty: that is not known.
  std::function<bool(const std::string& agent)> has_ended;
  /// Called several times a second with the number of kernels that are missing; true: end the run.
  std::function<bool(size_t num_waiting)> stop;
};

/// Builds the kernels of compile jobs into the kernel cache, in batches that keep all compilers busy: what a search
/// begins with, or what a deferred search wants. Uses no device. A library's job is done at once. Not thread-safe.
class CompileJobs {
 public:
  /// All arguments must outlive this.
  CompileJobs(JobQueue& queue, const Registry& solvers, const DeviceInfo& device, Kernels& kernels,
              CompileJobsOptions options, Clock& clock = steady_clock());
  /// Runs until no job can be claimed. False if it was stopped; jobs that were not finished went back to the queue.
  /// Throws like JobQueue and Kernels::build().
  bool run();
  const FleetCounts& counts() const noexcept { return counts_; }

 private:
  /// Candidates of one problem to compile.
  struct Batch {
    Problem problem;
    std::vector<Contender> contenders;
    std::vector<Candidate> candidates;
  };
  struct Prepared {
    ClaimedJob job;
    std::vector<Batch> batches;    ///< Of a wanted kernel's problem each, else one.
    bool is_wanted = false;        ///< Whether a search has asked for the candidates.
    std::string why_unbuilt = {};  ///< Why this machine cannot build a wanted candidate; empty: it can.
    JobOutcome outcome;
  };
  bool takes_part(const Prepared& one, const Problem& problem, const std::string& solver) const;
  Problem problem_of(const std::string& text) const;
  void prepare(Prepared& one) const;
  void prepare_wanted(Prepared& one, const std::vector<WantedCandidate>& wanted) const;
  bool prepare_all(std::vector<Prepared>& jobs);
  void work(std::vector<ClaimedJob>& held);
  bool awaits_searches();
  bool pause_for_others(size_t num_own);
  void build(std::vector<Prepared>& jobs);
  void renew(std::vector<Prepared>& held);
  void commit(Prepared& one, double seconds);

  JobQueue& queue_;
  const Registry& solvers_;
  const DeviceInfo& device_;
  Kernels& kernels_;
  const CompileJobsOptions options_;
  Clock& clock_;
  double renewed_s_ = 0;
  std::optional<double> searches_until_s_, waiting_since_s_;
  bool is_stopped_ = false;
  FleetCounts counts_;
};

/// The candidates whose kernels a search of a contender begins with, at most `max_count`: its default config, the
/// library's recommendations, neighbours' winners, and first questions. Of a composite solver only the default config,
/// because its parts are not tuned yet.
std::vector<Candidate> first_candidates(const Problem& problem, const DeviceInfo& device, const Contender& contender,
                                        const TunerOptions& how, const std::vector<Candidate>& neighbours,
                                        size_t max_count);

}  // namespace attune
