// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "base/clock.h"
#include "measure/executor.h"
#include "store/journal.h"
#include "tuner/candidate_source.h"
#include "tuner/competitor.h"
#include "tuner/cost_forecast.h"
#include "tuner/history/candidate_history.h"
#include "tuner/history/neighbours.h"
#include "tuner/kernels.h"
#include "tuner/race_times.h"
#include "tuner/tune_observer.h"
#include "tuner/tune_result.h"
#include "tuner/tuner_options.h"
#include "tuner/work_item.h"

namespace attune {

/// State that the runs of one Tuner share.
struct TuningContext {
  Executor& executor;
  Journal& journal;
  const TunerOptions& options;
  Clock& clock;
  TuneObserver& observer;
  Kernels* kernels;                ///< Null: candidates that need compiled kernels fail.
  std::function<double()> left_s;  ///< Time left of the budget; huge without a budget.
  /// True after an interrupt or when the budget is spent; checked between candidates.
  std::function<bool()> must_stop;
  std::function<bool()> interrupted;
  NeighbourIndex neighbours;
  Slot next_slot = 1;
  uint32_t epoch = 0;                  ///< The executor's, as far as its answers told.
  double recycle_s = 0;                ///< Duration of the last recycle.
  std::map<std::string, Costs> costs;  ///< Of one candidate, by solver, in the last problem that it took part in.
};

/// One problem from open to Decision. step() does one piece of work on the executor and returns.
class ProblemRun {
 public:
  ProblemRun(TuningContext& context, ProblemId id, const WorkItem& item);
  ~ProblemRun();

  bool finished() const noexcept { return finished_; }
  /// True if the next step() runs the first candidate.
  bool is_about_to_measure() const noexcept { return opened_ && !untuned_admitted_ && cut_reason_.empty(); }
  /// Earliest time at which step() has work; in the future only while it waits for its confirmation or to open.
  double ready_at_s() const noexcept { return ready_at_s_; }
  void step();
  /// True if it can continue in another worker only than that of its last samples: with renew_worker(), or when the
  /// worker is replaced for another problem.
  bool needs_fresh_worker() const noexcept { return needs_fresh_worker_ && !has_fresh_worker(); }
  void renew_worker();
  /// Ends the problem at the next step(): as a tie during the confirmation, otherwise without a row.
  void cut(const std::string& reason);
  /// Ends the problem at the next step() without a row. The records stay; a later run restarts the finals.
  void abandon(const std::string& reason);
  /// Stops asking for candidates. Admitted ones continue to the finals, and the Decision is marked incomplete.
  void stop_asking() noexcept { asking_ = false; }
  const TuneResult& result() const noexcept { return result_; }
  double busy_s() const noexcept { return result_.seconds; }

 private:
  void open();
  CandidateHistory::Source history_source() const;
  void recall();
  bool is_reusable(const Decision& decision);
  /// Whether a winner must beat the candidate: the baseline, or a library's own config. The config that a generated
  /// kernel starts from is a candidate like others.
  bool is_opponent(const Candidate& candidate) const;
  /// Whether the candidate may win, so that it must state what the run requires. Opponents need not.
  bool must_meet(const Candidate& candidate) const;
  bool may_win(const Competitor& entry) const;
  bool has_possible_winner() const;
  void admit_untuned();
  void admit_more(uint32_t max_count);
  std::vector<Kernels::BuildResult> build(std::span<const Candidate> candidates);
  Competitor* admit(const Candidate& candidate, bool keep);
  Competitor* admit_built(const Candidate& candidate, Kernels::BuildResult built,
                          const CandidateHistory::Result* known);
  bool is_known_failure(const Candidate& candidate);
  std::string failure_summary() const;
  void note_failure(const Candidate& candidate, const Outcome& outcome, Trial trial = {});
  void warm_up();
  void join(Competitor& entry);
  void sample(std::vector<Turn> schedule);
  void start_again();
  std::optional<Sampled> sample_in_pieces(std::span<const Turn> left);
  void await_delay(double seconds);
  void await_fresh_worker();
  bool has_fresh_worker() const noexcept { return epoch_ != context_.epoch; }
  const char* exceeded_limit(double expected_s) const;
  bool fits(double expected_s) const { return exceeded_limit(expected_s) == nullptr; }
  void cut_unless_fits(double expected_s);
  double until_decision_s(const Candidate& candidate) const;
  void tell_progress() { context_.observer.progress(item_.problem, contest_.phase(), entries_.size()); }
  void withdraw_failed(const std::vector<std::pair<Slot, Outcome>>& failed);
  void withdraw(Slot slot);
  Trial trial_of(const Competitor& entry) const;
  void retire_dropped();
  Measurement screened(const Competitor& entry);
  void shortlist();
  void decide();
  Decision make_decision(const ContestResult& outcome) const;
  void finish_without_row();
  void finish(Ending ending, std::string reason);
  Record record_of(const Competitor& entry, Stage stage, Outcome outcome) const;
  Event wait_for_answer();
  Milliseconds run_limit(uint32_t launches) const;
  Deadlines deadlines() const;
  Admitted verify(const Candidate& candidate, Slot slot, Kernels::BuildResult built, bool known);

  TuningContext& context_;
  ProblemId id_;
  WorkItem item_;
  TuneResult result_;
  Contest contest_;
  CostForecast forecast_;
  std::vector<Contender> contenders_;
  std::unique_ptr<CandidateSource> source_;
  std::map<Slot, Competitor> entries_;
  CandidateHistory history_;
  RaceTimes race_times_;
  std::set<std::string> tried_;
  Slot baseline_ = 0;
  uint64_t launches_ = 0;
  std::optional<uint32_t> epoch_;            // of the last samples
  std::optional<uint32_t> sampled_pairing_;  // Contest::pairing() of the last samples; none when they are void
  uint32_t dropped_samples_ = 0;
  double ready_at_s_ = 0, step_began_s_ = 0;
  bool opened_ = false, untuned_admitted_ = false, asking_ = true, shortlisted_ = false, finished_ = false;
  bool starved_ = false;  // the strategies returned nothing the last time, and no round has passed since
  std::string cut_reason_;
  bool abandoned_ = false, shortened_ = false;  // shortened_: some candidates were not asked for
  bool needs_fresh_worker_ = false, pause_cut_ = false;
  std::optional<double> finals_began_s_;
};

}  // namespace attune
