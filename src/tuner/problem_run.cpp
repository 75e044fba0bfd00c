// SPDX-License-Identifier: MIT
#include "tuner/problem_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "search/weight_group.h"

namespace attune {
namespace {

constexpr double kOverrun = 0.05;  // share of the budget by which a step may overrun it
constexpr size_t kNeighbours = 3;  // number of neighbours whose winners start a search

Contest make_contest(const TunerOptions& options) {
  return options.exhaustive ? Contest::exhaustive(options.warmup, options.iters, options.contest)
                            : Contest(options.contest);
}

/// At least one: 0 would be no limit.
Milliseconds limit_of(double seconds) { return std::max(milliseconds_of(seconds), Milliseconds(1)); }

}  // namespace

ProblemRun::ProblemRun(TuningContext& context, ProblemId id, const WorkItem& item)
    : context_(context),
      id_(id),
      item_(item),
      contest_(make_contest(context.options)),
      forecast_(item.problem, context.executor.device()) {
  result_.problem = item.problem;
}

ProblemRun::~ProblemRun() = default;

void ProblemRun::abandon(const std::string& reason) {
  abandoned_ = true;
  cut(reason);
}

void ProblemRun::cut(const std::string& reason) {
  if (cut_reason_.empty()) cut_reason_ = reason;
  contest_.cut();
  ready_at_s_ = 0;
  needs_fresh_worker_ = false;
}

/// Waits for the answer to the last request. After an interrupt it does not wait for a candidate: it aborts the
/// executor.
Event ProblemRun::wait_for_answer() {
  for (bool aborted = false;;) {
    if (!aborted && context_.interrupted()) {
      context_.executor.abort();
      aborted = true;
    }
    auto events = context_.executor.wait(Milliseconds(1000));
    if (!events.empty()) {
      ATTUNE_CHECK(events.size() == 1, "{} events for one request", events.size());
      return std::move(events.front());
    }
  }
}

void ProblemRun::step() {
  const double began = step_began_s_ = context_.clock.now_s();
  if (!opened_) {
    open();
  } else if (is_about_to_measure()) {
    admit_untuned();
  } else {
    const Want want = contest_.next();
    if (contest_.phase() != Phase::race && !std::exchange(shortlisted_, true)) {
      shortlist();
      warm_up();  // may lose a finalist, so the request is dropped and asked for again
    } else if (const auto* entrants = std::get_if<WantEntrants>(&want))
      admit_more(entrants->max_count);
    else if (const auto* samples = std::get_if<WantSamples>(&want))
      sample(samples->schedule);
    else if (const auto* delay = std::get_if<WantDelay>(&want))
      await_delay(delay->seconds);
    else if (std::holds_alternative<WantFreshWorker>(want))
      await_fresh_worker();
    else
      decide();
  }
  result_.seconds += context_.clock.now_s() - began;
  if (!finished_) tell_progress();
}

void ProblemRun::open() {
  opened_ = true;
  context_.executor.open(id_, item_.problem, context_.options.protocol);
  auto event = wait_for_answer();
  auto& opened = std::get<Opened>(event);
  if (opened.busy) {
    constexpr double kRetryS = 0.2;
    opened_ = false;
    ready_at_s_ = context_.clock.now_s() + kRetryS;
    return;
  }
  if (context_.interrupted()) return finish(Ending::cut, "interrupted before a decision");
  if (opened.lost) return finish(Ending::cut, "its workers died while no candidate ran in them: " + opened.refused);
  if (!opened.refused.empty()) return finish(Ending::refused, opened.refused);
  context_.neighbours.refresh(context_.journal);
  StartingPoints start{{}, context_.neighbours.nearest(item_.problem, kNeighbours)};
  if (item_.incumbent) start.incumbent = item_.incumbent->candidate;
  contenders_ = opened.contenders;
  source_ = std::make_unique<CandidateSource>(item_.problem, context_.executor.device(), std::move(opened.contenders),
                                              context_.options, start);
  result_.versions = source_->versions();
  if (source_->untuned().empty()) return finish(Ending::unsupported, failure_summary());
  if (context_.options.retune) return source_->begin({{}, context_.costs});
  auto decision = context_.journal.decision(item_.problem, context_.executor.device().fingerprint(),
                                            source_->versions(), context_.options.protocol);
  const bool is_of_another_binary = decision && !is_reusable(*decision);
  if (is_of_another_binary) decision.reset();
  const bool is_final = decision && !decision->incomplete && decision->deadlines.cover(deadlines());
  if (is_final && !has_pardon_since_decision(context_.journal, history_source())) {
    result_.decision = std::move(*decision);
    return finish(Ending::reused, "");
  }
  // A row whose decision was made with another binary is decided again.
  if (item_.has_row && !decision && !is_of_another_binary) return finish(Ending::kept, "the table already has its row");
  recall();
}

/// A decision belongs to its binaries: only verified ones may be published. In a weight group any finalist may be
/// published, elsewhere only the winner.
bool ProblemRun::is_reusable(const Decision& decision) {
  std::vector<Candidate> candidates = {decision.winner};
  std::vector<std::vector<BinaryIdentity>> verified = {decision.winner_binaries()};
  if (has_packed_weights(item_.problem)) {
    for (const Finalist& finalist : decision.finalists) {
      candidates.push_back(finalist.candidate);
      verified.push_back(finalist.binaries);
    }
  }
  const auto built = build(candidates);
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (!built[i].outcome.ok() || identities(built[i].binaries) != verified[i]) return false;
  }
  return true;
}

CandidateHistory::Source ProblemRun::history_source() const {
  const DeviceInfo& device = context_.executor.device();
  return {.problem = item_.problem,
          .device = device.key(),
          .fingerprint = device.fingerprint(),
          .protocol = context_.options.protocol,
          .deadlines = deadlines(),
          .with_screening = !context_.options.exhaustive};
}

void ProblemRun::recall() {
  history_.recall(context_.journal, history_source(),
                  [&](const std::string& solver) { return source_->versions_of(solver); });
  source_->begin({history_.trials(), context_.costs});
}

void ProblemRun::note_failure(const Candidate& candidate, const Outcome& outcome, Trial trial) {
  const auto before = std::find_if(result_.failures.begin(), result_.failures.end(),
                                   [&](const auto& one) { return one.first == candidate; });
  if (before == result_.failures.end())
    result_.failures.emplace_back(candidate, outcome);
  else
    before->second = outcome;
  trial.status = outcome.status;
  source_->tell(candidate, trial);
}

/// Compiles the kernels of the candidates together; a second call for one of them finds them in the cache.
std::vector<Kernels::BuildResult> ProblemRun::build(std::span<const Candidate> candidates) {
  if (context_.kernels == nullptr) return std::vector<Kernels::BuildResult>(candidates.size());
  return context_.kernels->build(item_.problem, contenders_, candidates, context_.must_stop);
}

/// Returns the option that leaves too little time for a step of this length: the run's budget or the problem's own
/// time; null if it fits.
const char* ProblemRun::exceeded_limit(double expected_s) const {
  const TunerOptions& options = context_.options;
  if (expected_s > context_.left_s() + kOverrun * options.budget_s) return "--budget";
  const double busy_s = result_.seconds + context_.clock.now_s() - step_began_s_;
  return options.problem_timeout_s <= 0 || expected_s <= options.problem_timeout_s - busy_s ? nullptr : "--timeout";
}

void ProblemRun::cut_unless_fits(double expected_s) {
  const char* limit = exceeded_limit(expected_s);
  if (limit == nullptr) return;
  cut(fmt::format("{} leaves too little time for a decision, which needs at least {}, about {} in all", limit,
                  format_duration(expected_s), format_duration(forecast_.whole_s())));
}

/// Shortest time to a decision if this candidate is tried.
double ProblemRun::until_decision_s(const Candidate& candidate) const {
  return (history_.has(candidate) ? 0 : forecast_.admission_s()) + forecast_.decision_s();
}

Deadlines ProblemRun::deadlines() const {
  const auto whole_ms = [](double seconds) { return static_cast<int64_t>(limit_of(seconds).count()); };
  return {whole_ms(context_.options.load_deadline_s), whole_ms(context_.options.run_deadline_s)};
}

Admitted ProblemRun::verify(const Candidate& candidate, Slot slot, Kernels::BuildResult built, bool known) {
  if (!built.outcome.ok()) return {.slot = slot, .verified = std::move(built.outcome)};
  const double began_s = context_.clock.now_s();
  const Milliseconds load = limit_of(context_.options.load_deadline_s);
  context_.executor.admit(id_, slot,
                          {.candidate = candidate,
                           .binaries = std::move(built.binaries),
                           .verify = !known,
                           .twice = !known,
                           .limits = {load, run_limit(1)},
                           .must_meet = must_meet(candidate),
                           .output = {}});
  Admitted admitted = std::get<Admitted>(wait_for_answer());
  if (!known) forecast_.admitted(context_.clock.now_s() - began_s);
  return admitted;
}

/// A candidate 50 times slower than the best need not finish.
Milliseconds ProblemRun::run_limit(uint32_t launches) const {
  constexpr double kSlow = 50;
  const double expected_s = launches * forecast_.best_launch_s();
  return limit_of(std::max(context_.options.run_deadline_s, kSlow * expected_s));
}

bool ProblemRun::is_known_failure(const Candidate& candidate) {
  const Kernels::BuildResult built = std::move(build({&candidate, 1}).front());
  const auto* known = history_.find(candidate, identities(built.binaries));
  return known != nullptr && !known->verified.ok();
}

/// Ends a problem with no candidate left. If one was lost with its worker through no fault of its own, another run may
/// decide it.
void ProblemRun::finish_without_row() {
  std::string nobody = baseline_ == 0 ? "no solver's untuned config is correct, so there is no baseline; " : "";
  if (const Requirement required = context_.options.protocol.require;
      required != Requirement::none && !has_possible_winner())
    nobody += fmt::format("no candidate on this machine is {}, as --require asks; ", text(required));
  const bool is_lost = std::any_of(result_.failures.begin(), result_.failures.end(),
                                   [](const auto& one) { return one.second.status == Status::device_lost; });
  finish(is_lost ? Ending::cut : Ending::unsupported, (is_lost ? "" : nobody) + failure_summary());
}

std::string ProblemRun::failure_summary() const {
  if (result_.num_candidates == 0) {
    const auto& refusals = source_->refusals();
    return "no solver supports it: " +
           (refusals.empty() ? std::string("none is available on this machine") : attune::join(refusals, "; "));
  }
  if (result_.failures.empty()) return "no candidate could be timed";
  const auto& [candidate, outcome] = result_.failures.front();
  return fmt::format("{} of {} candidates failed, the first with {}: {}", result_.failures.size(),
                     result_.num_candidates, name(outcome.status), outcome.detail);
}

/// `keep`: admit it even if an earlier run's race dropped it (a baseline, the incumbent).
Competitor* ProblemRun::admit(const Candidate& candidate, bool keep) {
  result_.num_candidates += tried_.insert(candidate.name()).second;
  Kernels::BuildResult built = std::move(build({&candidate, 1}).front());
  const auto* known = built.outcome.ok() ? history_.find(candidate, identities(built.binaries)) : nullptr;
  if (known && !known->verified.ok()) {
    note_failure(candidate, known->verified);
    return nullptr;
  }
  if (known && known->screened) race_times_.add(candidate, known->median_us, known->workspace_bytes);
  if (known && known->dropped && !keep) {
    source_->tell(candidate, known->trial());
    return nullptr;
  }
  return admit_built(candidate, std::move(built), known);
}

/// `known`: its verification in an earlier run, with the very same binaries; null: verify it now.
Competitor* ProblemRun::admit_built(const Candidate& candidate, Kernels::BuildResult built,
                                    const CandidateHistory::Result* known) {
  const Slot slot = context_.next_slot++;
  if (!known) {
    const Entry started = Started{item_.problem, context_.executor.device().key(), candidate,
                                  *source_->versions_of(candidate.solver), context_.executor.device().fingerprint()};
    context_.journal.append({&started, 1});
  }
  auto binaries = identities(built.binaries);
  Trial trial = known ? known->trial() : Trial();
  trial.prepare_s = built.seconds;
  const double began_s = context_.clock.now_s();
  const Admitted admitted = verify(candidate, slot, std::move(built), known != nullptr);
  trial.prepare_s += context_.clock.now_s() - began_s;
  if (admitted.verified.status == Status::cancelled) return nullptr;
  launches_ += admitted.launches;
  Competitor entry{candidate,
                   slot,
                   admitted.verified,
                   admitted.batch,
                   admitted.workspace_bytes,
                   admitted.rotation_bytes,
                   known && known->screened && !known->dropped,
                   admitted.states,
                   std::move(binaries),
                   trial.prepare_s};
  if (known) {
    entry.verified.errors = known->verified.errors;
  } else {
    const Entry record = record_of(entry, Stage::verify, admitted.verified);
    context_.journal.append({&record, 1});
    history_.set_verified(candidate, entry.binaries, admitted.verified);
  }
  if (!admitted.verified.ok()) {
    note_failure(candidate, admitted.verified, trial);
    return nullptr;
  }
  // A shortlisted candidate is not raced, so the strategy gets its time only here.
  if (entry.shortlisted) source_->tell(candidate, trial);
  return &entries_.emplace(slot, std::move(entry)).first->second;
}

bool ProblemRun::is_opponent(const Candidate& candidate) const {
  const auto& untuned = source_->untuned();
  if (std::find(untuned.begin(), untuned.end(), candidate) == untuned.end()) return false;
  const auto baseline = entries_.find(baseline_);
  return is_of_library(candidate) || (baseline != entries_.end() && baseline->second.candidate == candidate);
}

bool ProblemRun::must_meet(const Candidate& candidate) const {
  const auto& untuned = source_->untuned();
  const bool may_be_baseline = baseline_ == 0 || is_of_library(candidate);
  return !may_be_baseline || std::find(untuned.begin(), untuned.end(), candidate) == untuned.end();
}

bool ProblemRun::may_win(const Competitor& entry) const {
  const auto& only = context_.options.only;
  return (!only || *only == entry.candidate) && meets(entry.states, context_.options.protocol.require);
}

bool ProblemRun::has_possible_winner() const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const auto& one) { return may_win(one.second); });
}

void ProblemRun::join(Competitor& entry) {
  const bool incumbent = source_->incumbent() && *source_->incumbent() == entry.candidate;
  const std::string layout = entry.candidate.config.has("b_layout") ? entry.candidate.config.text("b_layout") : "plain";
  contest_.join({.slot = entry.slot,
                 .name = entry.candidate.name(),
                 .layout = layout,
                 .workspace_bytes = entry.workspace_bytes,
                 .baseline = entry.slot == baseline_,
                 .untuned = is_opponent(entry.candidate),
                 .incumbent = incumbent,
                 .may_win = may_win(entry),
                 .shortlisted = entry.shortlisted});
}

void ProblemRun::admit_untuned() {
  untuned_admitted_ = true;
  // Untuned configs first: the first correct one in the family's order is the baseline of this problem.
  const Want want = contest_.next();
  ATTUNE_CHECK(std::holds_alternative<WantEntrants>(want), "a new contest must ask for entrants");
  std::vector<Competitor*> admitted;
  build(source_->untuned());
  for (const Candidate& candidate : source_->untuned()) {
    if (context_.must_stop()) return;
    if (baseline_ != 0 && !fits(until_decision_s(candidate))) break;
    cut_unless_fits(until_decision_s(candidate));
    if (!cut_reason_.empty()) return;
    tell_progress();
    Competitor* entry = admit(candidate, baseline_ == 0);
    if (!entry) continue;
    if (baseline_ == 0) baseline_ = entry->slot;
    admitted.push_back(entry);
  }
  if (source_->incumbent() && !tried_.contains(source_->incumbent()->name())) {
    if (Competitor* entry = admit(*source_->incumbent(), true)) admitted.push_back(entry);
  }
  for (Competitor* entry : admitted) {
    // Tell the strategy now, not after the first round: a resumed run has no round for it and must ask for the same
    // configs.
    if (!entry->shortlisted) source_->tell(entry->candidate, {.prepare_s = entry->prepare_s});
    join(*entry);
  }
}

void ProblemRun::admit_more(uint32_t max_count) {
  size_t joined = 0;
  while (asking_ && joined < max_count) {
    const auto asked = source_->ask(max_count - joined);
    if (asked.empty()) break;
    build(asked);
    for (const Candidate& candidate : asked) {
      if (context_.must_stop()) return;
      if (tried_.contains(candidate.name())) continue;
      if (!fits(until_decision_s(candidate))) stop_asking();
      if (!asking_) break;
      tell_progress();
      if (Competitor* entry = admit(candidate, false)) {
        join(*entry);
        ++joined;
      }
    }
  }
  if (joined > 0 && asking_ && !source_->exhausted()) return;
  // A local search with nothing to ask for is asked again after the next round. If that happens twice without a round
  // in between, it is exhausted.
  if (asking_ && !source_->exhausted() && !entries_.empty() && !std::exchange(starved_, true)) return;
  if (!has_possible_winner()) return finish_without_row();
  shortened_ = !asking_ && !source_->exhausted();
  contest_.close();
}

void ProblemRun::finish(Ending ending, std::string reason) {
  result_.ending = ending;
  result_.reason = std::move(reason);
  finished_ = true;
  if (source_) {
    result_.remarks = source_->remarks();
    for (const auto& [solver, costs] : source_->costs()) context_.costs[solver] = costs;
  }
  context_.executor.close(id_);
}

}  // namespace attune
