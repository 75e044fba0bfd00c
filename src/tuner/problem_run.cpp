// SPDX-License-Identifier: MIT
#include "tuner/problem_run.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "core/candidate.h"
#include "measure/blocking_calls.h"
#include "ops/packed_weights.h"
#include "solver/parts.h"
#include "tuner/history/decision_recall.h"

namespace attune {
namespace {

constexpr double kOverrun = 0.05;  // share of the budget by which a step may overrun it
constexpr size_t kNeighbours = 3;  // number of neighbours whose winners start a search

Contest make_contest(const TunerOptions& options) {
  return options.exhaustive ? Contest::exhaustive(options.warmup, options.iters, options.contest)
                            : Contest(options.contest);
}

/// Adapts the run's options to an item. The protocol states the restrictions of the search, so Decisions of different
/// restrictions are never confused.
TunerOptions options_for(const WorkItem& item, const TunerOptions& run) {
  TunerOptions how = run;
  if (how.exhaustive) how.contest.race.sample_share = 1;  // it has no finals
  std::string& procedure = how.protocol.procedure;
  if (!item.solvers.empty()) procedure += fmt::format(" solvers={}", fmt::join(item.solvers, ","));
  for (const Candidate& candidate : item.candidates)
    procedure += fmt::format(" {}={}", item.defaults_may_win ? "with" : "only", candidate.name());
  if (item.defaults_only) procedure += " defaults";
  return how;
}

/// At least one: 0 would be no limit.
Milliseconds limit_of(double seconds) { return std::max(milliseconds_of(seconds), Milliseconds(1)); }

bool is_among(const std::vector<Candidate>& all, const Candidate& candidate) {
  return std::find(all.begin(), all.end(), candidate) != all.end();
}

}  // namespace

ProblemRun::ProblemRun(TuningContext& context, ProblemId id, const WorkItem& item)
    : context_(context),
      id_(id),
      item_(item),
      how_(options_for(item, context.options)),
      contest_(make_contest(how_)),
      forecast_(item.problem, context.executor.device()),
      sampler_(context.executor, context.epoch, context.tick, forecast_) {
  result_.problem = item.problem;
}

ProblemRun::~ProblemRun() = default;

void ProblemRun::end_early(Cut cut) {
  if (!cut_)
    cut_ = std::move(cut);
  else
    cut_->is_abandoned |= cut.is_abandoned;
  contest_.cut();
  joining_.reset();
  awaited_.clear();
  ready_at_s_ = 0;
  needs_fresh_worker_ = false;
}

void ProblemRun::stop_asking() noexcept {
  if (asking_ == Asking::yes || asking_ == Asking::idle) asking_ = Asking::stopped;
}

void ProblemRun::step() {
  const double began = step_began_s_ = context_.clock.now_s();
  const TimeUse before = context_.executor.workers().time;
  try {
    take_step();
  } catch (...) {
    append({});
    throw;
  }
  append({});
  result_.seconds += context_.clock.now_s() - began;
  note_time(before);
  if (!finished()) tell_progress();
}

void ProblemRun::take_step() {
  if (settle_reason_ && !cut_) {
    settle_short_list();
    if (finished()) return;
  }
  if (state_ == State::opening) {
    open();
  } else if (state_ == State::parts) {
    state_ = State::opening;
    if (cut_) finish(Ending::cut, cut_->reason);
  } else if (is_about_to_measure()) {
    state_ = State::racing;
    admit_defaults();
  } else if (joining_) {
    admit_more();
  } else {
    const ContestRequest want = contest_.next();
    const bool is_race_over = state_ != State::contesting && contest_.phase() != Phase::race;
    if (is_race_over)
      end_race();  // a finalist may be lost, so the request is dropped and asked for again
    else if (needs_recheck(want))
      recheck();
    else
      fulfil(want);
  }
}

/// Writes entries to the journal, after the entries that were put off.
void ProblemRun::append(std::span<const Entry> entries) {
  put_off_.insert(put_off_.end(), entries.begin(), entries.end());
  if (!put_off_.empty()) context_.journal.append(std::exchange(put_off_, {}));
}

/// Adds the executor's time use since `before`. An answer tells how long the worker had waited for its request. So the
/// tuner's work between two steps is counted with the second.
void ProblemRun::note_time(TimeUse before) {
  TimeUse time = context_.executor.workers().time;
  time -= before;
  context_.paused_s -= time.take_from_wait(Activity::pause, context_.paused_s);
  context_.compiling_s -= time.take_from_wait(Activity::compile, context_.compiling_s);
  // Time of the device's other workers does not count against this problem's limits.
  result_.seconds = std::max(0.0, result_.seconds - time[Activity::turn].wall_s);
  result_.time += time;
  context_.time += time;
}

void ProblemRun::fulfil(const ContestRequest& want) {
  if (const auto* entrants = std::get_if<WantEntrants>(&want)) {
    joining_ = {.max_count = entrants->max_count};
    admit_more();
  } else if (const auto* samples = std::get_if<WantSamples>(&want)) {
    sample(samples->schedule);
  } else if (const auto* delay = std::get_if<WantDelay>(&want)) {
    await_delay(delay->seconds);
  } else if (std::holds_alternative<WantFreshWorker>(want)) {
    await_fresh_worker();
  } else {
    decide();
  }
}

void ProblemRun::open() {
  if (context_.kernels != nullptr) context_.kernels->fetch_again();
  OpenAnswer opened = attune::open(context_.executor, {id_, item_.problem, how_.protocol}, context_.tick);
  if (opened.busy) {
    constexpr double kRetryS = 0.2;
    ready_at_s_ = context_.clock.now_s() + kRetryS;
    return;
  }
  state_ = State::admitting;
  if (context_.interrupted()) return finish(Ending::cut, "interrupted before a decision");
  if (opened.lost) return finish(Ending::cut, "its workers died while no candidate ran in them: " + opened.refused);
  result_.lacks_memory = opened.lacks_memory;
  if (opened.lacks_memory) return finish(Ending::cut, opened.refused);
  if (!opened.refused.empty()) return finish(Ending::refused, opened.refused);
  apply_parts(opened.contenders);
  context_.neighbours.refresh(context_.journal);
  StartingPoints start{{}, context_.neighbours.nearest(item_.problem, kNeighbours)};
  if (item_.incumbent) start.incumbent = item_.incumbent->candidate;
  contenders_ = opened.contenders;
  source_ =
      std::make_unique<CandidateSource>(item_, context_.executor.device(), std::move(opened.contenders), how_, start);
  result_.versions = source_->versions();
  if (source_->defaults().empty()) return finish(Ending::unsupported, failure_summary());
  if (item_.goal == Goal::decision) {
    const bool is_row_banned = item_.incumbent && source_->ban_of(item_.incumbent->candidate) != nullptr;
    const bool may_keep_row = item_.has_row && !how_.retune && !is_row_banned;
    auto known = recall_decision(context_.journal, history_source(), source_->versions(), may_keep_row,
                                 [this](const Decision& decision) { return is_of_present_binaries(decision); });
    if (known.keeps_row) return finish(Ending::kept, "the table already has its row");
    if (known.decision) {
      result_.decision = std::move(known.decision);
      return finish(Ending::reused, "");
    }
  }
  if (cut_) return finish(Ending::cut, cut_->reason);
  for (const Contender& contender : contenders_) {
    if (contender.support.yes && searches() && source_->versions_of(contender.solver) != nullptr)
      parts_.insert(parts_.end(), contender.parts.begin(), contender.parts.end());
  }
  if (next_part() != nullptr) {
    // Closed while it waits: two problems that wait for one part must not keep it from being opened.
    context_.executor.close(id_);
    state_ = State::parts;
    return;
  }
  history_.recall(context_.journal, history_source(),
                  [&](const std::string& solver) { return source_->versions_of(solver); });
  // Fixed from now on: the results that a strategy knows when it is asked must not depend on compile times.
  if (how_.compiles_beside_measuring && context_.kernels != nullptr &&
      context_.kernels->are_needed(Kernels::requests_of(item_.problem, contenders_, source_->defaults())))
    asked_ahead_ = how_.asked_ahead > 0
                       ? how_.asked_ahead
                       : context_.look_ahead.window(context_.kernels->num_jobs(), how_.contest.race.batch);
  search_ = std::make_unique<SearchThread>(*source_, asked_ahead_ > 0);
  search_->begin({history_.trials(), context_.costs});
  if (asked_ahead_ > 0) {
    std::vector<std::string> recipes;
    for (const auto& own : compile_ahead(source_->defaults())) recipes.insert(recipes.end(), own.begin(), own.end());
    awaits_kernels(std::move(recipes));
    // The first candidates of a search need no results. Their kernels are compiled by the time that this problem races.
    search_->ask(asked_ahead_ + 1);
  }
}

const Problem* ProblemRun::next_part() const {
  if (finished() || cut_) return nullptr;
  const auto missing = std::find_if(parts_.begin(), parts_.end(),
                                    [&](const Problem& one) { return !context_.parts.contains(one.key()); });
  return missing == parts_.end() ? nullptr : &*missing;
}

/// Replaces the choices that spaces offer for their parts by the short lists of the tuned parts. If a part has no
/// candidate, its contender does not support the problem, for the part's reason. Without a search, the given
/// candidates and the default config name the choices.
void ProblemRun::apply_parts(std::vector<Contender>& contenders) const {
  for (Contender& contender : contenders) {
    if (!contender.support.yes) continue;
    std::vector<std::vector<Candidate>> lists;
    if (!searches() && !contender.parts.empty()) {
      lists.resize(contender.parts.size());
      add_part_choices(contender, contender.default_config, lists);
      for (const Candidate& given : item_.candidates) {
        if (given.solver == contender.solver) add_part_choices(contender, given.config, lists);
      }
      contender.space = with_short_lists(contender.space, lists);
      continue;
    }
    for (const Problem& part : contender.parts) {
      const auto known = context_.parts.find(part.key());
      if (known == context_.parts.end() || known->second.was_cut) break;
      if (known->second.short_list.empty())
        contender.support = Support::no("has no candidate for its part: " + known->second.reason);
      lists.push_back(known->second.short_list);
    }
    if (contender.support.yes && !lists.empty() && lists.size() == contender.parts.size())
      contender.space = with_short_lists(contender.space, lists);
  }
}

bool ProblemRun::has_cut_part() const {
  return std::any_of(parts_.begin(), parts_.end(), [&](const Problem& part) {
    const auto known = context_.parts.find(part.key());
    return known != context_.parts.end() && known->second.was_cut;
  });
}

/// A decision belongs to its binaries: only verified ones may be published. In a weight group any finalist may be
/// published, elsewhere only the winner.
bool ProblemRun::is_of_present_binaries(const Decision& decision) {
  std::vector<Candidate> candidates = {decision.winner};
  std::vector<std::vector<BinaryIdentity>> verified = {decision.winner_binaries()};
  if (has_packed_weights(item_.problem)) {
    for (const Finalist& finalist : decision.finalists) {
      candidates.push_back(finalist.candidate);
      verified.push_back(finalist.binaries);
    }
  }
  const auto is_banned = [this](const Candidate& candidate) { return source_->ban_of(candidate) != nullptr; };
  if (std::any_of(candidates.begin(), candidates.end(), is_banned)) return false;
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
          .protocol = how_.protocol,
          .deadlines = deadlines(),
          .with_screening = !how_.exhaustive && !item_.is_contest,
          .after = how_.retune ? how_.own_after : 0};
}

void ProblemRun::note_failure(const Candidate& candidate, const Outcome& outcome, Trial trial) {
  const auto before = std::find_if(result_.failures.begin(), result_.failures.end(),
                                   [&](const auto& one) { return one.first == candidate; });
  if (before == result_.failures.end())
    result_.failures.emplace_back(candidate, outcome);
  else
    before->second = outcome;
  trial.status = outcome.status;
  search_->tell(candidate, trial);
}

/// Returns the option that leaves too little time for a step of this length: the run's budget or the problem's own
/// time; null if it fits.
const char* ProblemRun::exceeded_limit(double expected_s) const {
  if (expected_s > context_.left_s() + kOverrun * how_.budget_s) return "--budget";
  const double busy_s = result_.seconds + context_.clock.now_s() - step_began_s_;
  return how_.problem_timeout_s <= 0 || expected_s <= how_.problem_timeout_s - busy_s ? nullptr : "--timeout";
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
  return {whole_ms(how_.load_deadline_s), whole_ms(how_.run_deadline_s)};
}

/// A candidate 50 times slower than the best need not finish.
Milliseconds ProblemRun::run_limit(uint32_t launches) const {
  constexpr double kSlow = 50;
  const double expected_s = launches * forecast_.best_launch_s();
  return limit_of(std::max(how_.run_deadline_s, kSlow * expected_s));
}

/// Ends a problem with no candidate left. If the machine failed one (no memory, a lost worker), that says nothing about
/// the problem, and another run may decide it.
void ProblemRun::finish_without_row() {
  if (lacks_contestant()) return finish_without_kernels();
  std::string nobody =
      baseline_ == 0 ? "no solver's default or recommended config is correct, so there is no default to compare with; "
                     : "";
  if (const Requirement required = how_.protocol.require; required != Requirement::none && !has_possible_winner())
    nobody += fmt::format("no candidate on this machine is {}, as --require asks; ", text(required));
  const bool may_be_decided = num_failed_by_machine() > 0;
  result_.lacks_memory = has_failed_for_memory();
  finish(may_be_decided ? Ending::cut : Ending::unsupported, (may_be_decided ? "" : nobody) + failure_summary());
}

/// Number of candidates that had no memory or lost their worker, which says nothing about them.
size_t ProblemRun::num_failed_by_machine() const {
  return static_cast<size_t>(std::count_if(result_.failures.begin(), result_.failures.end(), [](const auto& one) {
    return one.second.status == Status::device_lost || one.second.status == Status::out_of_memory;
  }));
}

bool ProblemRun::has_failed_for_memory() const {
  return std::any_of(result_.failures.begin(), result_.failures.end(),
                     [](const auto& one) { return one.second.status == Status::out_of_memory; });
}

std::string ProblemRun::failure_summary() const {
  if (result_.num_candidates == 0) {
    const auto& refusals = source_->refusals();
    return "no solver supports it: " +
           (refusals.empty() ? std::string("none is available on this machine") : attune::join(refusals, "; "));
  }
  if (result_.failures.empty()) return "no candidate could be timed";
  const auto& [candidate, outcome] = result_.failures.front();
  return fmt::format("{} failed, the first with {}: {}",
                     counted_of(result_.failures.size(), result_.num_candidates, "candidate"), name(outcome.status),
                     outcome.detail);
}

bool ProblemRun::must_be_beaten(const Candidate& candidate) const {
  const auto baseline = entrants_.find(baseline_);
  if (baseline != entrants_.end() && baseline->second.candidate == candidate) return true;
  return is_of_library(candidate) && is_among(source_->defaults(), candidate);
}

bool ProblemRun::must_meet(const Candidate& candidate) const {
  const bool is_default = is_among(source_->defaults(), candidate);
  if (baseline_ == 0 && (is_default || is_among(source_->recommended(), candidate))) return false;
  return !is_default || !is_of_library(candidate);
}

bool ProblemRun::is_given(const Candidate& candidate) const { return is_among(item_.candidates, candidate); }

bool ProblemRun::may_win(const EntrantFacts& entrant) const {
  return (item_.defaults_may_win || is_given(entrant.candidate)) && meets(entrant.states, how_.protocol.require);
}

bool ProblemRun::has_possible_winner() const {
  return std::any_of(entrants_.begin(), entrants_.end(), [&](const auto& one) { return may_win(one.second); });
}

/// A part is tuned again once its kernels are built.
void ProblemRun::note_unbuilt_parts() {
  for (const Problem& part : parts_) {
    const auto known = context_.parts.find(part.key());
    if (known == context_.parts.end() || known->second.unbuilt.empty()) continue;
    const auto& unbuilt = known->second.unbuilt;
    result_.unbuilt.insert(result_.unbuilt.end(), unbuilt.begin(), unbuilt.end());
    context_.parts.erase(known);
  }
}

void ProblemRun::finish(Ending ending, std::string reason) {
  result_.ending = ending;
  result_.reason = std::move(reason);
  state_ = State::finished;
  if (search_) search_->wait();
  note_unbuilt_parts();
  if (source_) {
    result_.remarks = source_->remarks();
    if (!clock_held_by_.empty())
      clock_remark_ =
          "the clock was held down by: " + attune::join({clock_held_by_.begin(), clock_held_by_.end()}, ", ");
    if (!clock_remark_.empty()) result_.remarks.push_back(clock_remark_);
    for (const auto& [solver, costs] : source_->costs()) context_.costs[solver] = costs;
  }
  context_.executor.close(id_);
}

}  // namespace attune
