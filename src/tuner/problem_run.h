// SPDX-License-Identifier: MIT
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "search/contest.h"
#include "tuner/candidate_source.h"
#include "tuner/history/candidate_history.h"
#include "tuner/problem/cost_forecast.h"
#include "tuner/problem/entrant_facts.h"
#include "tuner/problem/race_times.h"
#include "tuner/problem/sampler.h"
#include "tuner/problem/search_thread.h"
#include "tuner/problem/work_item.h"
#include "tuner/tune_result.h"
#include "tuner/tuning_context.h"

namespace attune {

/// One problem from open to Decision. step() does one piece of work on the executor and returns.
///
///     opening ─▶ admitting ─▶ racing ─▶ contesting ─▶ finished
///      ▲   ▼        └───────────┴────────────────────────▲
///      parts
class ProblemRun {
 public:
  /// opening: not open in the executor. parts: other runs tune the parts of composite solvers; then the problem is
  /// opened again. admitting: open; the default configs are next. racing: candidates join and are sampled. contesting:
  /// the finals and what follows.
  enum class State : uint8_t { opening, parts, admitting, racing, contesting, finished };

  ProblemRun(TuningContext& context, ProblemId id, const WorkItem& item);
  ~ProblemRun();

  State state() const noexcept { return state_; }
  bool is_contest() const noexcept { return item_.is_contest; }
  bool wants_short_list() const noexcept { return item_.goal == Goal::short_list; }
  bool finished() const noexcept { return state_ == State::finished; }
  /// True if the next step() runs the first candidate.
  bool is_about_to_measure() const noexcept { return state_ == State::admitting && !cut_; }
  /// Earliest time at which step() has work; in the future only while it waits for its confirmation or to open.
  double ready_at_s() const noexcept { return ready_at_s_; }
  /// A part of a composite solver whose short list must be in TuningContext::parts before step() can go on; null: none.
  const Problem* next_part() const;
  void step();
  /// True if the next step() begins with waiting for a compiler, so that other problems should go on first.
  bool waits_for_compiler();
  /// Waits until a compiler of any problem ends, for at most 200 ms. Requires: waits_for_compiler().
  void await_compilers();
  /// True if it cannot go on in the worker of its last samples. It goes on after renew_worker(), or when another
  /// problem replaces the worker.
  bool needs_fresh_worker() const noexcept { return needs_fresh_worker_ && !sampler_.has_fresh_worker(); }
  void renew_worker();
  /// Ends the problem at the next step(): as a tie during the confirmation, otherwise without a row.
  void cut(const std::string& reason) { end_early({reason, false}); }
  /// Ends the problem at the next step() with the fastest candidates so far as its short list; like cut() if none is
  /// timed. Requires: wants_short_list().
  void settle(const std::string& reason) { settle_reason_ = reason; }
  /// Ends the problem at the next step() without a row. The records stay; a later run restarts the finals.
  void abandon(const std::string& reason) { end_early({reason, true}); }
  /// Stops asking for candidates. Admitted ones continue to the finals, and the Decision is marked incomplete.
  void stop_asking() noexcept;
  const TuneResult& result() const noexcept { return result_; }
  double busy_s() const noexcept { return result_.seconds; }

 private:
  /// Whether the strategies are asked for candidates. idle: they had none the last time, and no round has passed since.
  /// stopped: time is short. incomplete: they were stopped while they had more.
  enum class Asking : uint8_t { yes, idle, stopped, incomplete };
  struct Cut {
    std::string reason;
    bool is_abandoned = false;
  };
  /// A candidate, and the recipes of its kernels that are compiled while other candidates are measured.
  struct Asked {
    Candidate candidate;
    std::vector<std::string> recipes;
  };
  /// Entrants that the contest has asked for.
  struct Joining {
    size_t max_count = 0, joined = 0;
    size_t num_due = 0;  // total to ask for before the strategies are told of the current candidate
  };

  void open();
  void apply_parts(std::vector<Contender>& contenders) const;
  /// Whether configs are searched, not only default configs and given candidates compared.
  bool searches() const noexcept { return item_.candidates.empty() && !item_.defaults_only; }
  bool has_cut_part() const;
  CandidateHistory::Source history_source() const;
  bool is_of_present_binaries(const Decision& decision);
  /// Whether a winner must beat the candidate: the baseline, or a library's default config. The default config of a
  /// generated kernel is a candidate like others.
  bool must_be_beaten(const Candidate& candidate) const;
  /// Whether the candidate must state the requirement of the run, because it may win. Default configs that a winner
  /// must beat need not.
  bool must_meet(const Candidate& candidate) const;
  bool is_given(const Candidate& candidate) const;
  bool may_win(const EntrantFacts& entrant) const;
  bool has_possible_winner() const;
  void take_step();
  void append(std::span<const Entry> entries);
  void note_time(TimeUse before);
  void fulfil(const ContestRequest& want);
  std::vector<std::vector<std::string>> compile_ahead(std::span<const Candidate> candidates);
  void take_asked();
  bool has_asked();
  void ask_due();
  bool has_next();
  void admit_defaults();
  EntrantFacts* set_baseline(std::span<const Candidate> candidates);
  void admit_more();
  bool awaits_kernels(std::vector<std::string> recipes);
  std::vector<Kernels::BuildResult> build(std::span<const Candidate> candidates);
  EntrantFacts* admit(const Candidate& candidate, bool keep);
  EntrantFacts* admit_built(const Candidate& candidate, Kernels::BuildResult built,
                            const CandidateHistory::Result* known);
  bool is_known_failure(const Candidate& candidate);
  size_t num_failed_by_machine() const;
  bool has_failed_for_memory() const;
  std::string failure_summary() const;
  void note_failure(const Candidate& candidate, const Outcome& outcome, Trial trial = {});
  void note_unbuilt(const Candidate& candidate, const Outcome& outcome);
  void note_unbuilt_parts();
  bool lacks_contestant() const;
  void finish_without_kernels();
  void warm_up();
  void join(EntrantFacts& entrant);
  void sample(std::vector<Turn> schedule);
  bool needs_recheck(const ContestRequest& want) const;
  void recheck();
  void bring_back();
  bool come_back(const Candidate& candidate);
  std::optional<SampleAnswer> run_schedule(std::span<const Turn> schedule);
  void look_at_clock();
  Timing timing_of(const EntrantFacts& entrant) const;
  Timing finals_timing() const;
  void start_again();
  void await_delay(double seconds);
  void await_fresh_worker();
  const char* exceeded_limit(double expected_s) const;
  bool fits(double expected_s) const { return exceeded_limit(expected_s) == nullptr; }
  void cut_unless_fits(double expected_s);
  void end_early(Cut cut);
  double until_decision_s(const Candidate& candidate) const;
  void tell_progress() { context_.observer.progress(item_.problem, contest_.phase(), entrants_.size()); }
  void withdraw_failed(const std::vector<std::pair<Slot, Outcome>>& failed);
  void withdraw(Slot slot);
  Trial trial_of(const EntrantFacts& entrant) const;
  void retire_dropped();
  Measurement screened(const EntrantFacts& entrant);
  void end_race();
  void settle_short_list();
  Decision decision_of(const ContestResult& outcome);
  void decide();
  void finish_without_row();
  void finish(Ending ending, std::string reason);
  Record record_of(const EntrantFacts& entrant, Stage stage, Outcome outcome) const;
  Milliseconds run_limit(uint32_t launches) const;
  Deadlines deadlines() const;
  AdmitAnswer verify(const Candidate& candidate, Slot slot, Kernels::BuildResult built, bool known);

  TuningContext& context_;
  const ProblemId id_;
  const WorkItem item_;
  const TunerOptions how_;  // the run's options, adapted to the item
  State state_ = State::opening;
  Asking asking_ = Asking::yes;
  std::optional<Cut> cut_;
  std::optional<std::string> settle_reason_;  // of settle(), until it was heeded
  TuneResult result_;
  Contest contest_;
  CostForecast forecast_;
  Sampler sampler_;
  std::vector<Problem> parts_;  // of composite solvers; known once the problem was opened
  std::vector<Contender> contenders_;
  std::unique_ptr<CandidateSource> source_;
  std::unique_ptr<SearchThread> search_;  // drives source_; null before the search begins
  uint32_t asked_ahead_ = 0;              // 0: compiling and measuring alternate
  std::deque<Asked> asked_;               // named and not tried yet, in the order of asking
  size_t num_tried_ = 0;                  // of the candidates that were asked for
  std::optional<Joining> joining_;
  std::vector<std::string> awaited_;  // recipes of the kernels that the next step needs, until they are there
  std::map<Slot, EntrantFacts> entrants_;
  CandidateHistory history_;
  RaceTimes race_times_;
  std::set<std::string> tried_;
  // Records of admissions and the announcement of the next candidate, put off because each write waits for the disk.
  // They are written while that candidate is being admitted, before anything else is written or waited for, and at the
  // latest at the end of a step.
  std::vector<Entry> put_off_;
  Slot baseline_ = 0;
  uint64_t num_admission_launches_ = 0;
  double ready_at_s_ = 0, step_began_s_ = 0;
  bool needs_fresh_worker_ = false, pause_cut_ = false;
  // unchecked_: finalists that were sampled and not verified since. repeated_: finalists that were verified in calls in
  // a row. is_of_opening_: the samples to verify are of an opening of the confirm.
  std::set<Slot> unchecked_, repeated_;
  bool is_of_opening_ = false;
  std::optional<double> finals_began_s_;
  std::set<std::string> clock_held_by_;
  std::string clock_remark_;
};

}  // namespace attune
