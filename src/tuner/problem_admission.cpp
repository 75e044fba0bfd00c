// SPDX-License-Identifier: MIT
// The part of ProblemRun that asks for candidates, has their kernels compiled and admits them.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "measure/blocking_calls.h"
#include "tuner/problem_run.h"

namespace attune {

/// Compiles the kernels of the candidates together; a second call for one of them finds them in the cache. Once the
/// problem is cut, it only finds cached kernels.
std::vector<Kernels::BuildResult> ProblemRun::build(std::span<const Candidate> candidates) {
  if (context_.kernels == nullptr) return std::vector<Kernels::BuildResult>(candidates.size());
  if (cut_) return context_.kernels->find(Kernels::requests_of(item_.problem, contenders_, candidates));
  const auto stop = [this](size_t num_waiting) {
    append({});
    context_.observer.compiling(item_.problem, num_waiting);
    return context_.must_stop();
  };
  const double began_s = context_.clock.now_s();
  auto built = context_.kernels->build(item_.problem, contenders_, candidates, stop);
  context_.compiling_s += context_.clock.now_s() - began_s;
  return built;
}

/// Has the kernels of the candidates compiled: before measuring, or in parallel with it. Returns for each candidate the
/// recipes of kernels that may still be missing.
std::vector<std::vector<std::string>> ProblemRun::compile_ahead(std::span<const Candidate> candidates) {
  if (asked_ahead_ > 0) return context_.kernels->prefetch(Kernels::requests_of(item_.problem, contenders_, candidates));
  build(candidates);
  return std::vector<std::vector<std::string>>(candidates.size());
}

/// Has the kernels of newly named candidates compiled. Candidates are tried in the order of asking, regardless of the
/// order in which their kernels are compiled.
void ProblemRun::take_asked() {
  auto asked = search_->take();
  if (asked.empty()) return;
  auto recipes = compile_ahead(asked);
  for (size_t i = 0; i < asked.size(); ++i) asked_.push_back({std::move(asked[i]), std::move(recipes[i])});
}

/// Asks for the candidates that are due before the strategies are told of the current candidate. This happens while a
/// worker admits it, if it needs a worker, so that the questions do not depend on that.
void ProblemRun::ask_due() {
  if (!joining_) return;
  if (const size_t num_due = std::exchange(joining_->num_due, 0); num_due > 0) search_->ask(num_due);
}

/// Whether a candidate that was asked for waits to be tried. Waits for the search only if none is known yet.
bool ProblemRun::has_asked() {
  take_asked();
  if (asked_.empty()) {
    search_->wait();
    take_asked();
  }
  return !asked_.empty();
}

/// Whether a candidate waits to be tried; asks for one if not. Notes how many candidates are due before the strategies
/// are told of it.
bool ProblemRun::has_next() {
  const size_t wanted = asked_ahead_ > 0 ? asked_ahead_ + 1 : joining_->max_count - joining_->joined;
  const bool has_some = has_asked();
  joining_->num_due = has_some && asked_ahead_ > 0 ? num_tried_ + wanted : 0;
  if (has_some) return true;
  search_->ask(num_tried_ + wanted);
  return has_asked();
}

/// Whether kernels that are compiled in parallel with measuring are missing. Other work then goes first.
bool ProblemRun::awaits_kernels(std::vector<std::string> recipes) {
  awaited_ = std::move(recipes);
  return waits_for_compiler();
}

bool ProblemRun::waits_for_compiler() {
  if (search_) take_asked();
  if (!awaited_.empty() && context_.kernels->are_ready(awaited_)) awaited_.clear();
  return !awaited_.empty();
}

void ProblemRun::await_compilers() {
  constexpr Milliseconds kAsk{200};
  append({});
  context_.observer.compiling(item_.problem, asked_.size());
  const double began_s = context_.clock.now_s();
  context_.kernels->await(kAsk);
  const double waited_s = context_.clock.now_s() - began_s;
  context_.compiling_s += waited_s;
  result_.seconds += waited_s;
}

AdmitAnswer ProblemRun::verify(const Candidate& candidate, Slot slot, Kernels::BuildResult built, bool known) {
  if (!built.outcome.ok()) {
    ask_due();
    return {.slot = slot, .verified = std::move(built.outcome)};
  }
  const auto beside = [this] {
    append({});
    ask_due();
  };
  const double began_s = context_.clock.now_s();
  const Milliseconds load(deadlines().load_ms);
  AdmitAnswer admitted = attune::admit(context_.executor,
                                       {id_,
                                        slot,
                                        {.candidate = candidate,
                                         .binaries = std::move(built.binaries),
                                         .verify = !known,
                                         .twice = !known,
                                         .limits = {load, run_limit(1)},
                                         .must_meet = must_meet(candidate),
                                         .output = {}}},
                                       context_.tick, beside);
  if (!known) forecast_.admitted(context_.clock.now_s() - began_s);
  return admitted;
}

bool ProblemRun::is_known_failure(const Candidate& candidate) {
  const Kernels::BuildResult built = std::move(build({&candidate, 1}).front());
  const auto* known = history_.find(candidate, identities(built.binaries));
  return known != nullptr && !known->verified.ok();
}

/// `keep`: admit it even if an earlier run's race dropped it (a baseline, the incumbent, a given candidate).
EntrantFacts* ProblemRun::admit(const Candidate& candidate, bool keep) {
  result_.num_candidates += tried_.insert(candidate.name()).second;
  Kernels::BuildResult built = std::move(build({&candidate, 1}).front());
  if (built.is_unbuilt) {
    ask_due();
    note_unbuilt(candidate, built.outcome);
    return nullptr;
  }
  const auto* known = built.outcome.ok() ? history_.find(candidate, identities(built.binaries)) : nullptr;
  if (known && !known->verified.ok()) {
    ask_due();
    note_failure(candidate, known->verified);
    return nullptr;
  }
  if (known && known->screened) race_times_.add(candidate, known->median_us, known->workspace_bytes);
  if (known && known->dropped && !keep) {
    ask_due();
    search_->tell(candidate, known->trial());
    return nullptr;
  }
  return admit_built(candidate, std::move(built), known);
}

/// Nothing is recorded, because nothing was tried. A search that wants many of them goes on when they are built.
void ProblemRun::note_unbuilt(const Candidate& candidate, const Outcome& outcome) {
  const auto is_it = [&](const UnbuiltCandidate& one) { return one.candidate == candidate; };
  if (std::ranges::none_of(result_.unbuilt, is_it)) result_.unbuilt.push_back({item_.problem, candidate});
  note_failure(candidate, outcome);
  if (searches() && result_.unbuilt.size() >= kMaxUnbuilt) stop_asking();
}

/// `known`: its verification in an earlier run, with the very same binaries; null: verify it now.
EntrantFacts* ProblemRun::admit_built(const Candidate& candidate, Kernels::BuildResult built,
                                      const CandidateHistory::Result* known) {
  const Slot slot = context_.next_slot++;
  if (!known) {
    put_off_.emplace_back(Started{item_.problem, context_.executor.device().key(), candidate,
                                  *source_->versions_of(candidate.solver), context_.executor.device().fingerprint()});
  }
  auto binaries = identities(built.binaries);
  auto metadata = compiler_reports(built.binaries);
  Trial trial = known ? known->trial() : Trial();
  trial.prepare_s = built.seconds;
  const double began_s = context_.clock.now_s();
  const AdmitAnswer admitted = verify(candidate, slot, std::move(built), known != nullptr);
  const double admission_s = context_.clock.now_s() - began_s;
  context_.look_ahead.admitted(trial.prepare_s, admission_s);
  trial.prepare_s += admission_s;
  if (admitted.verified.status == Status::cancelled) return nullptr;
  if (admitted.lacks_memory) {
    result_.lacks_memory = true;
    abandon("its operands found no memory: " + admitted.verified.detail);
    return nullptr;
  }
  num_admission_launches_ += admitted.launches;
  EntrantFacts entrant{candidate,
                       slot,
                       admitted.verified,
                       admitted.batch,
                       admitted.timing,
                       admitted.workspace_bytes,
                       admitted.rotation_bytes,
                       known && known->screened && !known->dropped,
                       admitted.states,
                       admitted.bandwidth_gbs,
                       std::move(binaries),
                       std::move(metadata),
                       trial.prepare_s};
  if (known) {
    entrant.verified.errors = known->verified.errors;
  } else {
    put_off_.emplace_back(record_of(entrant, Stage::verify, admitted.verified));
    history_.set_verified(candidate, entrant.binaries, admitted.verified);
  }
  if (!admitted.verified.ok()) {
    note_failure(candidate, admitted.verified, trial);
    return nullptr;
  }
  // A shortlisted candidate is not raced, so the strategy gets its time only here.
  if (entrant.shortlisted) search_->tell(candidate, trial);
  return &entrants_.emplace(slot, std::move(entrant)).first->second;
}

void ProblemRun::join(EntrantFacts& entrant) {
  const bool incumbent = source_->incumbent() && *source_->incumbent() == entrant.candidate;
  contest_.join({.slot = entrant.slot,
                 .name = entrant.candidate.name(),
                 .layout = layout_of(entrant.candidate),
                 .workspace_bytes = entrant.workspace_bytes,
                 .baseline = entrant.slot == baseline_,
                 .is_default = must_be_beaten(entrant.candidate),
                 .incumbent = incumbent,
                 .may_win = may_win(entrant),
                 .shortlisted = entrant.shortlisted});
}

/// Makes the first correct candidate the baseline, even one that the race had dropped. Null if none is correct.
EntrantFacts* ProblemRun::set_baseline(std::span<const Candidate> candidates) {
  for (const Candidate& candidate : candidates) {
    const auto present = std::find_if(entrants_.begin(), entrants_.end(),
                                      [&](const auto& entrant) { return entrant.second.candidate == candidate; });
    if (present == entrants_.end() && is_known_failure(candidate)) continue;
    EntrantFacts* const entrant = present != entrants_.end() ? &present->second : admit(candidate, true);
    if (entrant == nullptr) continue;
    baseline_ = entrant->slot;
    return entrant;
  }
  return nullptr;
}

void ProblemRun::admit_defaults() {
  // Default configs first: the first correct one in the family's order is the baseline of this problem.
  const ContestRequest want = contest_.next();
  ATTUNE_CHECK(std::holds_alternative<WantEntrants>(want), "a new contest must ask for entrants");
  std::vector<EntrantFacts*> admitted;
  if (asked_ahead_ == 0) compile_ahead(source_->defaults());  // Otherwise open() has done it.
  for (const Candidate& candidate : source_->defaults()) {
    if (context_.must_stop()) return;
    if (baseline_ != 0 && !fits(until_decision_s(candidate))) break;
    cut_unless_fits(until_decision_s(candidate));
    if (cut_) return;
    tell_progress();
    EntrantFacts* entrant = admit(candidate, baseline_ == 0);
    if (!entrant) continue;
    if (baseline_ == 0) baseline_ = entrant->slot;
    admitted.push_back(entrant);
  }
  if (cut_) return;
  if (baseline_ == 0 && fits(forecast_.decision_s())) {
    if (EntrantFacts* entrant = set_baseline(source_->recommended())) admitted.push_back(entrant);
  }
  if (source_->incumbent() && !tried_.contains(source_->incumbent()->name())) {
    if (EntrantFacts* entrant = admit(*source_->incumbent(), true)) admitted.push_back(entrant);
  }
  for (EntrantFacts* entrant : admitted) {
    // Tell the strategy now, not after the first round: a resumed run has no round for it and must ask for the same
    // configs.
    if (!entrant->shortlisted) search_->tell(entrant->candidate, {.prepare_s = entrant->prepare_s});
    join(*entrant);
  }
}

/// Admits the candidates that the contest has asked for, up to one whose kernel is still being compiled. The next step
/// goes on with that one, so that the order of work does not depend on when compilers end.
void ProblemRun::admit_more() {
  const auto is_asking = [this] { return asking_ == Asking::yes || asking_ == Asking::idle; };
  size_t& num_joined = joining_->joined;
  while (is_asking() && num_joined < joining_->max_count && has_next()) {
    if (context_.must_stop()) return;
    const Candidate candidate = asked_.front().candidate;
    const bool is_new = !tried_.contains(candidate.name());
    if (is_new && !fits(until_decision_s(candidate))) stop_asking();
    if (!is_asking()) break;
    const bool is_waiting = is_new && awaits_kernels(asked_.front().recipes);
    if (!is_new || is_waiting) ask_due();
    if (is_waiting) return;
    asked_.pop_front();
    ++num_tried_;
    if (!is_new) continue;
    tell_progress();
    // A given candidate is wanted even if it was slower than another.
    EntrantFacts* const entrant = admit(candidate, is_given(candidate));
    if (!joining_) return;  // The problem has no memory.
    if (entrant == nullptr) continue;
    join(*entrant);
    ++num_joined;
  }
  const size_t joined = num_joined;
  joining_.reset();
  const bool has_more = has_asked() || !source_->exhausted();
  if (joined > 0 && is_asking() && has_more) return;
  // A search with nothing to ask for now is asked again after the next round. If that happens twice without a round
  // in between, it is exhausted.
  if (asking_ == Asking::yes && has_more && !entrants_.empty()) {
    asking_ = Asking::idle;
    return;
  }
  if (!has_possible_winner()) {
    if (asking_ == Asking::stopped && result_.unbuilt.size() >= kMaxUnbuilt) return finish_without_kernels();
    if (asking_ == Asking::stopped && has_more)
      return finish(Ending::cut, "its time ran out before a candidate that may win was tried");
    return finish_without_row();
  }
  if (asking_ == Asking::stopped && has_more) asking_ = Asking::incomplete;
  contest_.close();
}

}  // namespace attune
