// SPDX-License-Identifier: MIT
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>

#include "tuner/candidate_history.h"
#include "tuner/candidate_source.h"
#include "tuner/cost_forecast.h"
#include "tuner/kernels.h"
#include "tuner/neighbours.h"
#include "tuner/race_times.h"
#include "tuner/tuner.h"

namespace attune {

/// What the runs of one Tuner share.
struct TuningContext {
  Executor& executor;
  Journal& journal;
  const TunerOptions& options;
  Clock& clock;
  TuneObserver& observer;
  Kernels* kernels;                 ///< Null: candidates that need compiled kernels fail.
  std::function<double()> left_s;   ///< Of the budget; huge without one.
  std::function<bool()> must_stop;  ///< Interrupted, or the budget is spent: asked between candidates.
  std::function<bool()> interrupted;
  NeighbourIndex neighbours;
  Slot next_slot = 1;
};

/// One problem on its way from open to Decision. step() does one piece of work on the executor and returns.
class ProblemRun {
 public:
  ProblemRun(TuningContext& context, ProblemId id, const WorkItem& item);
  ~ProblemRun();

  bool finished() const noexcept { return finished_; }
  /// The next step() runs its first candidate.
  bool is_about_to_measure() const noexcept { return opened_ && !untuned_admitted_ && cut_reason_.empty(); }
  /// Earliest time step() has something to do: later than now only while it waits for its confirm.
  double ready_at_s() const noexcept { return ready_at_s_; }
  void step();
  /// Time is up: ends the problem at the next step(), in confirm as a tie, otherwise without a row.
  void cut(const std::string& reason);
  /// Ends it at the next step() without a row: the records stay, a later run starts the finals again.
  void abandon(const std::string& reason);
  /// Stops asking for candidates; what is admitted goes on to the finals, and the Decision says it is incomplete.
  void stop_asking() noexcept { asking_ = false; }
  const TuneResult& result() const noexcept { return result_; }
  double busy_s() const noexcept { return result_.seconds; }

 private:
  struct Competitor;  // A candidate that was admitted, by slot.

  void open();
  void recall();
  bool is_reusable(const Decision& decision);
  void admit_untuned();
  void admit_more(uint32_t at_most);
  std::vector<Kernels::BuildResult> build(std::span<const Candidate> candidates);
  Competitor* admit(const Candidate& candidate, bool keep);
  Competitor* admit_built(const Candidate& candidate, Kernels::BuildResult built,
                          const CandidateHistory::Result* known);
  bool is_known_failure(const Candidate& candidate);
  std::string failure_summary() const;
  void note_failure(const Candidate& candidate, const Outcome& outcome);
  void warm_up();
  void join(Competitor& entry);
  void sample(std::vector<Turn> schedule);
  void start_again();
  std::optional<Sampled> sample_in_pieces(std::span<const Turn> left);
  bool fits(double expected_s) const;
  void cut_unless_fits(double expected_s);
  double until_decision_s(const Candidate& candidate) const;
  void tell_progress() { context_.observer.progress(item_.problem, contest_.phase(), entries_.size()); }
  void withdraw_failed(const std::vector<std::pair<Slot, Outcome>>& failed);
  void withdraw(Slot slot);
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
  std::optional<uint32_t> epoch_;      // Of the last samples.
  Phase sampled_phase_ = Phase::race;  // Theirs; publish counts as confirm, whose rounds it goes on with.
  uint32_t dropped_samples_ = 0;
  double ready_at_s_ = 0, step_began_s_ = 0;
  bool opened_ = false, untuned_admitted_ = false, asking_ = true, shortlisted_ = false, finished_ = false;
  bool starved_ = false;  // The strategies had nothing the last time, and no round has passed since.
  std::string cut_reason_;
  bool abandoned_ = false, shortened_ = false;  // shortened_: candidates were left unasked.
  std::optional<double> finals_began_s_;
};

}  // namespace attune
