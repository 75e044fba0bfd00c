// SPDX-License-Identifier: MIT
#include "tuner/problem_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "tuner/competitor.h"
#include "tuner/neighbours.h"

namespace attune {
namespace {

constexpr double kOverrun = 0.05;  // Share of the budget by which a step may be expected to pass it.
constexpr size_t kNeighbours = 3;  // Whose winners a search begins with.

Contest make_contest(const TunerOptions& options) {
  return options.exhaustive ? Contest::exhaustive(options.warmup, options.iters, options.contest)
                            : Contest(options.contest);
}

std::string failure_summary(const TuneResult& result, const std::vector<std::string>& refusals) {
  if (result.num_candidates == 0) {
    return "no solver takes it: " + (refusals.empty() ? std::string("none is available here") : join(refusals, "; "));
  }
  if (result.failures.empty()) return "no candidate could be timed";
  const auto& [candidate, outcome] = result.failures.front();
  return fmt::format("{} of {} candidates failed, the first with {}: {}", result.failures.size(), result.num_candidates,
                     name(outcome.status), outcome.detail);
}

/// At least one, since none would be no limit, and a year at most.
Milliseconds milliseconds_of(double seconds) {
  constexpr double kYearS = 366 * 86400.0;
  return Milliseconds(static_cast<int64_t>(std::ceil(1e3 * std::clamp(seconds, 1e-3, kYearS))));
}

/// Whether an earlier run's outcome holds today. A launch may fail for want of a resource that libraries do not name.
bool is_lasting(Status status) { return !is_passing(status) && status != Status::launch_failed; }

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
}

/// Of the request just made. An interrupt does not wait for a candidate: the executor is told to give up.
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
      warm_up();  // May lose a finalist: what is wanted then is asked anew.
    } else if (const auto* entrants = std::get_if<WantEntrants>(&want))
      admit_more(entrants->at_most);
    else if (const auto* samples = std::get_if<WantSamples>(&want))
      sample(samples->schedule);
    else if (const auto* delay = std::get_if<WantDelay>(&want)) {
      // The executor works on another problem meanwhile; a lone problem is waited for by the tuner.
      const double until = finals_began_s_.value_or(began) + delay->seconds;
      // A budget that ends before the delay does is better spent on a confirm at once than on none.
      const bool affordable = until - began < context_.left_s() / 2;
      if (began >= until || !affordable)
        contest_.delayed();
      else
        ready_at_s_ = until;
    } else {
      decide();
    }
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
  if (context_.interrupted()) return finish(Ending::cut, "interrupted before it was decided");
  if (!opened.refused.empty()) return finish(Ending::refused, opened.refused);
  const StartingPoints start{
      item_.incumbent, nearest_winners(context_.journal, item_.problem, context_.executor.device().key(), kNeighbours)};
  contenders_ = opened.contenders;
  source_ = std::make_unique<CandidateSource>(item_.problem, context_.executor.device(), std::move(opened.contenders),
                                              context_.options, start);
  if (source_->untuned().empty()) return finish(Ending::unsupported, failure_summary(result_, source_->refusals()));
  if (context_.options.retune) return;
  auto decision = context_.journal.decision(item_.problem, context_.executor.device().key(), source_->versions(),
                                            context_.options.protocol);
  if (decision && !decision->incomplete) {
    result_.decision = std::move(*decision);
    return finish(Ending::reused, "");
  }
  if (item_.has_row && !decision) return finish(Ending::kept, "its row is in the table already");
  recall();
}

void ProblemRun::recall() {
  const Query query{.problem = item_.problem,
                    .device = context_.executor.device().key(),
                    .protocol = context_.options.protocol,
                    .started = false,
                    .decisions = false};
  context_.journal.scan(query, [&](const Entry& entry) {
    if (const auto* pardoned = std::get_if<Pardoned>(&entry)) {
      const auto found = known_.find(pardoned->candidate.name());
      if (found != known_.end() && !found->second.verified.ok()) known_.erase(found);
      return;
    }
    const auto& record = std::get<Record>(entry);
    const Versions* present = source_->versions_of(record.candidate.solver);
    if (!present || compare(record.versions, *present) == Age::stale) return;
    if (record.stage == Stage::verify && !is_lasting(record.outcome.status)) return;
    Known& known = known_[record.candidate.name()];
    if (record.stage == Stage::verify) known.verified = record.outcome;
    if (record.stage == Stage::screen) {
      known.screened = true;
      known.dropped = record.dropped;
      if (record.outcome.measurement) known.median_us = record.outcome.measurement->median_us;
    }
  });
}

void ProblemRun::note_failure(const Candidate& candidate, const Outcome& outcome) {
  const auto before = std::find_if(result_.failures.begin(), result_.failures.end(),
                                   [&](const auto& one) { return one.first == candidate; });
  if (before == result_.failures.end())
    result_.failures.emplace_back(candidate, outcome);
  else
    before->second = outcome;
  source_->tell(candidate, outcome.status, 0);
}

/// Compiles what the candidates need, together; a second call for one of them finds it done.
std::vector<Kernels::Built> ProblemRun::build(std::span<const Candidate> candidates) {
  if (context_.kernels == nullptr) return std::vector<Kernels::Built>(candidates.size());
  return context_.kernels->build(item_.problem, contenders_, candidates, context_.must_stop);
}

/// Whether a step of this length ends within the run's budget and the problem's own time.
bool ProblemRun::fits(double expected_s) const {
  const TunerOptions& options = context_.options;
  if (expected_s > context_.left_s() + kOverrun * options.budget_s) return false;
  const double busy_s = result_.seconds + context_.clock.now_s() - step_began_s_;
  return options.problem_timeout_s <= 0 || expected_s <= options.problem_timeout_s - busy_s;
}

void ProblemRun::cut_unless_fits(double expected_s) {
  if (fits(expected_s)) return;
  cut(fmt::format("the time left is too short to decide it: {} at least, {} perhaps", format_duration(expected_s),
                  format_duration(forecast_.whole_s())));
}

/// The least time to a decision once this candidate is tried.
double ProblemRun::until_decision_s(const Candidate& candidate) const {
  return (known_.contains(candidate.name()) ? 0 : forecast_.admission_s()) + forecast_.decision_s();
}

Admitted ProblemRun::verify(const Candidate& candidate, Slot slot, bool known) {
  Kernels::Built built = std::move(build({&candidate, 1}).front());
  if (!built.outcome.ok()) return {.slot = slot, .verified = std::move(built.outcome)};
  const double began_s = context_.clock.now_s();
  const Milliseconds load = milliseconds_of(context_.options.load_deadline_s);
  context_.executor.admit(id_, slot, {candidate, std::move(built.binaries), !known, !known, {load, run_limit(1)}});
  Admitted admitted = std::get<Admitted>(wait_for_answer());
  if (!known) forecast_.admitted(context_.clock.now_s() - began_s);
  return admitted;
}

/// A candidate 50 times slower than the best need not finish.
Milliseconds ProblemRun::run_limit(uint32_t launches) const {
  constexpr double kSlow = 50;
  const double expected_s = launches * forecast_.best_launch_s();
  return milliseconds_of(std::max(context_.options.run_deadline_s, kSlow * expected_s));
}

/// `keep`: it is needed even if an earlier run's race dropped it (a baseline, the incumbent).
ProblemRun::Competitor* ProblemRun::admit(const Candidate& candidate, bool keep) {
  result_.num_candidates += tried_.insert(candidate.name()).second;
  const auto found = known_.find(candidate.name());
  const Known* known = found == known_.end() ? nullptr : &found->second;
  if (known && !known->verified.ok()) {
    note_failure(candidate, known->verified);
    return nullptr;
  }
  if (known && known->dropped && !keep) {
    source_->tell(candidate, Status::ok, known->median_us);
    return nullptr;
  }
  const Slot slot = context_.next_slot++;
  if (!known) {
    const Entry started =
        Started{item_.problem, context_.executor.device().key(), candidate, *source_->versions_of(candidate.solver)};
    context_.journal.append({&started, 1});
  }
  const Admitted admitted = verify(candidate, slot, known != nullptr);
  if (admitted.verified.status == Status::cancelled) return nullptr;
  launches_ += admitted.launches;
  Competitor entry{candidate,
                   slot,
                   admitted.verified,
                   admitted.batch,
                   admitted.workspace_bytes,
                   admitted.rotation_bytes,
                   known && known->screened && !known->dropped};
  if (known) {
    entry.verified.errors = known->verified.errors;
  } else {
    const Entry record = record_of(entry, Stage::verify, admitted.verified);
    context_.journal.append({&record, 1});
    known_[candidate.name()].verified = admitted.verified;
  }
  if (!admitted.verified.ok()) {
    note_failure(candidate, admitted.verified);
    return nullptr;
  }
  // One that is shortlisted already is not raced, and the strategy hears of its time in no other way.
  if (entry.shortlisted) source_->tell(candidate, Status::ok, known->median_us);
  return &entries_.emplace(slot, std::move(entry)).first->second;
}

void ProblemRun::join(Competitor& entry) {
  const bool incumbent = source_->incumbent() && *source_->incumbent() == entry.candidate;
  const std::string layout = entry.candidate.config.has("b_layout") ? entry.candidate.config.text("b_layout") : "plain";
  contest_.join({.slot = entry.slot,
                 .name = entry.candidate.name(),
                 .layout = layout,
                 .workspace_bytes = entry.workspace_bytes,
                 .baseline = entry.slot == baseline_,
                 .incumbent = incumbent,
                 .shortlisted = entry.shortlisted});
}

void ProblemRun::admit_untuned() {
  untuned_admitted_ = true;
  // All defaults first: the first of the family's order that is correct is the baseline of this problem.
  const Want want = contest_.next();
  ATTUNE_CHECK(std::holds_alternative<WantEntrants>(want), "a fresh contest wants entrants");
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
    // Told now, not by the first round: a run that resumes has none for it, and must ask for the same.
    if (!entry->shortlisted) source_->tell(entry->candidate, Status::ok, 0);
    join(*entry);
  }
}

void ProblemRun::admit_more(uint32_t at_most) {
  size_t joined = 0;
  while (asking_ && joined < at_most) {
    const auto asked = source_->ask(at_most - joined);
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
  // A local search that has nothing for now is asked again after the next round has told it more; twice in a row
  // without a round between, and it never will have.
  if (asking_ && !source_->exhausted() && !entries_.empty() && !std::exchange(starved_, true)) return;
  if (entries_.empty()) return finish(Ending::unsupported, failure_summary(result_, source_->refusals()));
  shortened_ = !asking_ && !source_->exhausted();
  contest_.close();
}

Record ProblemRun::record_of(const Competitor& entry, Stage stage, Outcome outcome) const {
  return {.problem = item_.problem,
          .device = context_.executor.device().key(),
          .candidate = entry.candidate,
          .versions = *source_->versions_of(entry.candidate.solver),
          .protocol = context_.options.protocol,
          .stage = stage,
          .outcome = std::move(outcome)};
}

void ProblemRun::retire_dropped() {
  std::vector<Entry> records;
  for (const Slot slot : contest_.take_dropped()) {
    const auto found = entries_.find(slot);
    if (found == entries_.end()) continue;
    Outcome outcome = found->second.verified;
    outcome.measurement = contest_.measurement(slot);
    Record record = record_of(found->second, Stage::screen, std::move(outcome));
    record.dropped = true;
    records.emplace_back(std::move(record));
    context_.executor.drop(slot);
    entries_.erase(found);
  }
  if (!records.empty()) context_.journal.append(records);
}

void ProblemRun::shortlist() {
  retire_dropped();
  std::vector<Entry> records;
  for (const Slot slot : contest_.finalists()) {
    Competitor& entry = entries_.at(slot);
    if (entry.shortlisted) continue;  // Recorded by the run that raced it.
    Outcome outcome = entry.verified;
    outcome.measurement = contest_.measurement(slot);
    if (outcome.measurement->samples.empty()) continue;  // An exhaustive search has no race.
    records.emplace_back(record_of(entry, Stage::screen, std::move(outcome)));
  }
  if (!records.empty()) context_.journal.append(records);
}

void ProblemRun::decide() {
  const ContestResult outcome = contest_.result();
  if (abandoned_) return finish(Ending::cut, cut_reason_);
  if (!outcome.decided) {
    if (!cut_reason_.empty()) return finish(Ending::cut, cut_reason_);
    const std::string nobody =
        baseline_ == 0 ? "no default of any solver is correct, so there is nothing to compare with; " : "";
    return finish(Ending::unsupported, nobody + failure_summary(result_, source_->refusals()));
  }
  Decision decision;
  decision.problem = item_.problem;
  decision.device = context_.executor.device().key();
  decision.protocol = context_.options.protocol;
  const Competitor& winner = entries_.at(outcome.winner);
  decision.winner = winner.candidate;
  decision.baseline = entries_.at(outcome.baseline).candidate;
  decision.versions = source_->versions();
  std::vector<Entry> journal;
  for (const FinalistResult& finalist : outcome.finalists) {
    const Competitor& entry = entries_.at(finalist.slot);
    decision.finalists.push_back({entry.candidate, finalist.us, finalist.ratio, finalist.ratio_low, finalist.ratio_high,
                                  finalist.num_clean, entry.verified.errors});
    Outcome evidence = entry.verified;
    evidence.measurement = contest_.measurement(finalist.slot);
    evidence.measurement->epoch = epoch_.value_or(0);
    evidence.measurement->workspace_bytes = entry.workspace_bytes;
    evidence.measurement->rotation_bytes = entry.rotation_bytes;
    journal.emplace_back(record_of(entry, Stage::final, std::move(evidence)));
  }
  for (const Slot slot : outcome.tied) decision.tied.push_back(entries_.at(slot).candidate);
  decision.verdict = outcome.verdict;
  decision.noisy = outcome.noisy;
  decision.incomplete = shortened_ || !cut_reason_.empty();
  decision.dropped_samples = dropped_samples_;
  decision.errors = winner.verified.errors;
  decision.num_clean = outcome.num_clean;
  decision.winner_us = outcome.winner_us;
  decision.baseline_us = outcome.baseline_us;
  decision.ratio = outcome.ratio;
  decision.ratio_low = outcome.ratio_low;
  decision.ratio_high = outcome.ratio_high;
  decision.launches = launches_;
  result_.decision = decision;
  journal.emplace_back(std::move(decision));
  context_.journal.append(journal);
  finish(Ending::decided, "");
}

void ProblemRun::finish(Ending ending, std::string reason) {
  result_.ending = ending;
  result_.reason = std::move(reason);
  finished_ = true;
  context_.executor.close(id_);
}

}  // namespace attune
