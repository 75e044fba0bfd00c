// SPDX-License-Identifier: MIT
#include "search/contest.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "search/confirm.h"
#include "search/contestants.h"
#include "search/exhaustive.h"
#include "search/finals.h"
#include "search/race.h"
#include "search/winner_choice.h"

namespace attune {
namespace {

std::string too_few(uint32_t pairs, uint32_t needed) {
  return fmt::format("other work disturbed the samples: {} clean pairs with the default, {} are needed", pairs, needed);
}

}  // namespace

/// Composes the phases: each returns the rounds it wants until it is decided, then the next one starts.
struct Contest::State {
  explicit State(ContestOptions given)
      : options(std::move(given)), contestants(options.seed), race(options.race, contestants) {}

  std::optional<ContestRequest> advance();
  std::optional<ContestRequest> advance_race();
  std::optional<ContestRequest> advance_finals();
  std::optional<ContestRequest> advance_confirm();
  std::optional<ContestRequest> advance_publish();
  std::optional<ContestRequest> advance_exhaustive();
  ContestRequest want_samples(std::vector<Turn> turns);
  void start_finals();
  std::optional<ContestRequest> want_of(OpeningStep step);
  /// The finalists that are default configs, which a winner must beat; the baseline alone if it is one of them itself.
  std::vector<Slot> defaults_to_beat(Slot chosen) const;
  std::vector<Slot> rotation_of(const std::vector<Claim>& claims) const;
  std::vector<Slot> best_of_other_layouts(Slot chosen) const;
  std::vector<Claim> claims_of(Slot chosen, Slot baseline) const;
  /// Clean pairs without which nothing is called faster: those of the first look.
  uint32_t min_pairs() const { return capped_looks(options.finals.looks, options.max_pairs).front(); }
  void settle_unproven();
  void prefer_fastest();
  bool is_slower(const Openings& openings, Slot slot, Slot than) const;
  void tie_by_openings(const Openings& openings);
  void start_confirm(Slot chosen, Slot baseline);
  void finish_exhaustive();
  void mark_confirmed();
  void finish();
  bool is_measurement_noisy(Slot slot, Rounds rounds) const {
    return contestants.samples().num_clean(slot, rounds) < SampleTable::kMinClean;
  }

  ContestOptions options;
  Contestants contestants;
  Race race;
  std::optional<Exhaustive> exhaustive;
  std::optional<Finals> finals;
  std::optional<Confirm> confirm;
  std::optional<Openings> publish;
  Phase phase = Phase::race;
  std::vector<Turn> wanted;  ///< Schedule not yet reported.
  uint32_t may_join = 0;     ///< Entrants that may still join before the next round.
  bool asked = false;        ///< True if entrants were requested since the last round.
  bool closed = false, cut = false, waited = false, is_denied = false;
  std::vector<Slot> finalists;  ///< Kept across a restart of the finals.
  Rounds finals_rounds;         ///< Set when the finals end.
  double gain_to_prove = 0;
  uint32_t pairing = 0;
  std::vector<Slot> dropped;
  ContestResult result;
};

ContestRequest Contest::State::want_samples(std::vector<Turn> turns) {
  wanted = std::move(turns);
  return WantSamples{wanted};
}

std::optional<ContestRequest> Contest::State::advance() {
  if (exhaustive) return advance_exhaustive();
  switch (phase) {
    case Phase::race:
      return advance_race();
    case Phase::finals:
      return advance_finals();
    case Phase::confirm:
      return advance_confirm();
    case Phase::publish:
      return advance_publish();
    case Phase::finished:
      return ContestEnd{};
  }
  return ContestEnd{};
}

std::optional<ContestRequest> Contest::State::advance_race() {
  if (!closed && (!asked || !race.has_more())) {
    asked = true;
    may_join = options.race.batch;
    return WantEntrants{may_join};
  }
  asked = false;
  may_join = 0;
  if (auto turns = race.next(!closed); !turns.empty()) return want_samples(std::move(turns));
  if (!closed) return std::nullopt;  // nothing to measure yet: ask again
  finalists = race.shortlist();
  for (const Slot slot : race.alive()) {
    if (!contains(finalists, slot)) dropped.push_back(slot);
  }
  for (const Slot slot : contestants.slots()) {
    const bool sure = contestants.entrant(slot).shortlisted || contestants.is_protected(slot);
    if (sure && !contains(finalists, slot)) finalists.push_back(slot);
  }
  start_finals();
  return std::nullopt;
}

void Contest::State::start_finals() {
  result = {};
  is_denied = false;
  confirm.reset();
  publish.reset();
  waited = false;
  if (contestants.possible_winners(finalists).empty()) {
    phase = Phase::finished;
    return;
  }
  phase = Phase::finals;
  ++pairing;
  finals.emplace(options.finals, options.max_pairs, contestants, finalists);
}

std::vector<Slot> Contest::State::defaults_to_beat(Slot chosen) const {
  const auto baseline = contestants.baseline();
  if (!baseline) return {};
  if (contestants.is_default(chosen)) return chosen == *baseline ? std::vector<Slot>() : std::vector<Slot>{*baseline};
  std::vector<Slot> defaults;
  for (const Slot slot : finalists) {
    if (contestants.is_default(slot)) defaults.push_back(slot);
  }
  return defaults;
}

std::vector<Slot> Contest::State::best_of_other_layouts(Slot chosen) const {
  auto bests = contestants.best_of_layouts(contestants.possible_winners(finalists), finals_rounds);
  std::erase_if(bests,
                [&](Slot slot) { return contestants.entrant(slot).layout == contestants.entrant(chosen).layout; });
  return bests;
}

/// The finalists that are measured after the finals: those of the claims, all default configs, the best of each layout,
/// and the fastest others up to the size of a rotation.
std::vector<Slot> Contest::State::rotation_of(const std::vector<Claim>& claims) const {
  std::vector<Slot> rotation;
  const auto add = [&](Slot slot) {
    if (!contains(rotation, slot)) rotation.push_back(slot);
  };
  for (const Claim& claim : claims) add(claim.winner);
  for (const Slot slot : finalists) {
    if (contestants.is_default(slot)) add(slot);
  }
  for (const Slot slot : best_of_other_layouts(claims.front().winner)) add(slot);
  for (const Slot slot : contestants.ranked(finalists, finals_rounds)) {
    if (rotation.size() < options.confirm.mix) add(slot);
  }
  return rotation;
}

std::optional<ContestRequest> Contest::State::advance_finals() {
  if (auto turns = finals->next(); !turns.empty()) return want_samples(std::move(turns));
  finals_rounds = finals->rounds();
  const Slot chosen = choose(contestants, finals->tied(), finals_rounds);
  const auto baseline = contestants.baseline();
  result.tied.assign(finals->tied().begin(), finals->tied().end());
  result.winner = chosen;
  result.baseline = baseline.value_or(chosen);
  result.noisy = finals->discarded();
  if (baseline && chosen != *baseline) {
    start_confirm(chosen, *baseline);
    return std::nullopt;
  }
  result.decided = baseline.has_value();
  phase = Phase::publish;
  publish.emplace(contestants, rotation_of({{.winner = chosen}}), std::vector<Slot>{chosen},
                  options.confirm.publish_pairs);
  return std::nullopt;
}

/// Returns the claims to prove, the preferred one first. Default configs that may not win decide whether the chosen one
/// is called faster, not whether it gets the row.
std::vector<Claim> Contest::State::claims_of(Slot chosen, Slot baseline) const {
  const auto to_beat = defaults_to_beat(chosen), rivals = contestants.possible_winners(to_beat);
  std::vector<Claim> claims = {{chosen, to_beat, gain_to_prove, Verdict::faster}};
  if (!rivals.empty() && rivals.size() < to_beat.size() && contains(rivals, baseline))
    claims.push_back({chosen, rivals, gain_to_prove, Verdict::required});
  // The fastest default config keeps the row against a candidate that beats it by too little, if it beats the baseline.
  if (!rivals.empty() && contains(rivals, baseline)) {
    const Slot other = contestants.best(rivals, finals_rounds);
    if (other != baseline) claims.push_back({other, {baseline}, gain_to_prove, Verdict::faster});
  }
  return claims;
}

void Contest::State::start_confirm(Slot chosen, Slot baseline) {
  const auto to_beat = defaults_to_beat(chosen);
  const auto is_noisy = [&](Slot slot) { return is_measurement_noisy(slot, finals_rounds); };
  result.noisy =
      result.noisy || is_noisy(chosen) || is_noisy(baseline) || is_noisy(contestants.best(to_beat, finals_rounds));
  gain_to_prove = options.min_gain;
  if (result.noisy && !contestants.entrant(chosen).incumbent)
    gain_to_prove = std::max(gain_to_prove, options.confirm.noisy_gain);
  const auto claims = claims_of(chosen, baseline);
  phase = Phase::confirm;
  confirm.emplace(options.confirm, options.max_pairs, min_pairs(), contestants, claims, rotation_of(claims));
}

std::optional<ContestRequest> Contest::State::want_of(OpeningStep step) {
  if (step.needs_fresh_worker) return WantFreshWorker{};
  if (!step.turns.empty()) return want_samples(std::move(step.turns));
  return std::nullopt;
}

std::optional<ContestRequest> Contest::State::advance_confirm() {
  if (!waited && options.confirm.delay_s > 0) return WantDelay{options.confirm.delay_s};
  if (auto want = want_of(confirm->next())) return want;
  if (const Claim* proven = confirm->accepted()) {
    result.decided = true;
    result.winner = proven->winner;
    result.verdict = proven->verdict;
    prefer_fastest();
  } else {
    settle_unproven();
  }
  tie_by_openings(confirm->openings());
  finish();
  return std::nullopt;
}

/// Nothing was proven faster: the baseline wins, unless it may not.
void Contest::State::settle_unproven() {
  result.decided = true;
  if (confirm && result.reason.empty()) {
    if (const auto pairs = confirm->too_few_pairs(confirm->first_claim())) result.reason = too_few(*pairs, min_pairs());
  }
  if (!contestants.entrant(result.baseline).may_win) {
    result.verdict = Verdict::required;
    return;
  }
  result.verdict = Verdict::tie;
  result.winner = result.baseline;
}

/// The finals are one opening, in which the winner may have been lucky: of those in the rotation that are proven faster
/// than every default config, too, the fastest of all openings takes its place, an incumbent's only if it is not tied.
void Contest::State::prefer_fastest() {
  if (result.verdict != Verdict::faster) return;
  const Openings& openings = confirm->openings();
  for (const Slot slot : contestants.possible_winners(openings.mix())) {
    const bool is_faster = contestants.entrant(result.winner).incumbent
                               ? is_slower(openings, result.winner, slot)
                               : openings.log_ratio(result.winner, slot).center > 0;
    if (slot == result.winner || !is_faster) continue;
    if (confirm->is_proven({slot, defaults_to_beat(slot), gain_to_prove, Verdict::faster})) result.winner = slot;
  }
}

/// Whether the openings show that one takes longer by more than the finals' margin.
bool Contest::State::is_slower(const Openings& openings, Slot slot, Slot than) const {
  return openings.log_ratio(slot, than).exceeds(options.finals.margin, look_level(options.confirm));
}

/// A kernel may differ from itself by more from one opening to the next than within the finals, so of those in the
/// rotation the openings say whether they are tied with the winner.
void Contest::State::tie_by_openings(const Openings& openings) {
  for (const Slot slot : contestants.possible_winners(openings.mix())) {
    if (slot == result.winner) continue;
    std::erase(result.tied, slot);
    if (!is_slower(openings, slot, result.winner)) result.tied.push_back(slot);
  }
}

std::optional<ContestRequest> Contest::State::advance_publish() {
  if (auto want = want_of(publish->next(options.confirm.min_openings))) return want;
  tie_by_openings(*publish);
  finish();
  return std::nullopt;
}

std::optional<ContestRequest> Contest::State::advance_exhaustive() {
  if (phase == Phase::finished) return ContestEnd{};
  if (!closed) {
    may_join = std::numeric_limits<uint32_t>::max();
    return WantEntrants{may_join};
  }
  may_join = 0;
  finalists = contestants.slots();
  phase = finalists.empty() ? Phase::finished : Phase::finals;
  if (auto turns = exhaustive->next(finalists); !turns.empty()) return want_samples(std::move(turns));
  finish_exhaustive();
  return std::nullopt;
}

void Contest::State::finish_exhaustive() {
  if (!finalists.empty()) {
    result.winner = contestants.best(finalists, {});
    result.baseline = contestants.baseline().value_or(result.winner);
    result.verdict = result.winner == result.baseline ? Verdict::baseline : Verdict::faster;
    result.decided = contestants.baseline().has_value();
    result.tied = {result.winner};
  }
  finish();
  // The samples that chose the winner also time it, so the whole interval must show the gain.
  const uint32_t pairs = std::min(min_pairs(), exhaustive->iters());
  const bool has_pairs = result.comparison.num_clean >= pairs;
  const bool is_shown = has_pairs && result.comparison.interval.low > 1 + options.min_gain;
  if (result.verdict == Verdict::faster && !is_shown) {
    if (!has_pairs) result.reason = too_few(result.comparison.num_clean, pairs);
    result.tied = {result.winner, result.baseline};
    result.verdict = Verdict::tie;
    result.winner = result.baseline;
    result.comparison = {.us = result.baseline_us, .num_clean = result.comparison.num_clean};
  }
}

/// The best of each other layout was chosen by the finals, so the samples that confirm the winner may confirm it too.
void Contest::State::mark_confirmed() {
  if (is_denied) return;
  const auto others = best_of_other_layouts(confirm->first_claim().winner);
  for (FinalistResult& finalist : result.finalists) {
    const Slot slot = finalist.slot;
    finalist.confirmed = slot == result.winner
                             ? result.verdict == Verdict::faster
                             : contains(others, slot) &&
                                   confirm->is_proven({slot, defaults_to_beat(slot), gain_to_prove, Verdict::faster});
  }
}

void Contest::State::finish() {
  phase = Phase::finished;
  if (finalists.empty()) return;
  if (!exhaustive && result.decided && !contains(result.tied, result.winner)) result.tied.push_back(result.winner);
  Evidence evidence{contestants.ranked(finalists, {}), {}, {}};
  if (finals)
    evidence.finals = {finals->rounds().first, confirm || publish ? finals_rounds.last : contestants.last_round()};
  if (confirm || publish) {
    const auto openings = (confirm ? confirm->openings() : *publish).complete();
    evidence.openings.assign(openings.begin(), openings.end());
  }
  if (!result.decided && !publish) {  // cut: report what was measured
    result.winner = evidence.finalists.front();
    result.baseline = contestants.baseline().value_or(result.winner);
  }
  fill_figures(contestants, evidence, result);
  if (confirm && result.decided) mark_confirmed();
  // A row must have a time.
  if (result.comparison.us <= 0 || (contestants.baseline() && result.baseline_us <= 0)) result.decided = false;
}

Contest::Contest(ContestOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Contest Contest::exhaustive(uint32_t warmup, uint32_t iters, ContestOptions options) {
  Contest contest(std::move(options));
  contest.state_->exhaustive.emplace(warmup, std::max<uint32_t>(1, iters), contest.state_->contestants);
  return contest;
}
Contest::~Contest() = default;
Contest::Contest(Contest&&) noexcept = default;
Contest& Contest::operator=(Contest&&) noexcept = default;

ContestRequest Contest::next() {
  auto& state = *state_;
  if (state.phase == Phase::finished) return ContestEnd{};
  if (state.cut) {
    state.wanted.clear();
    if (state.phase == Phase::confirm) state.settle_unproven();
    state.finish();
    return ContestEnd{};
  }
  if (!state.wanted.empty()) return WantSamples{state.wanted};
  while (true) {
    if (auto want = state.advance()) return *std::move(want);
  }
}

void Contest::join(const Entrant& entrant) {
  auto& state = *state_;
  const bool replaces_baseline = entrant.baseline && !state.contestants.baseline();
  const bool comes_back = entrant.shortlisted && state.phase != Phase::race;
  ATTUNE_CHECK(state.may_join > 0 || replaces_baseline || comes_back,
               "slot {} joins a contest that requested no entrants", entrant.slot);
  if (state.may_join > 0) --state.may_join;
  const bool known = state.contestants.has(entrant.slot);
  state.contestants.add(entrant);
  if (state.phase == Phase::race) {
    if (!known && !entrant.shortlisted && !state.exhaustive) state.race.join(entrant.slot);
    return;
  }
  if (!contains(state.finalists, entrant.slot)) state.finalists.push_back(entrant.slot);
  if (!state.exhaustive) state.start_finals();
}

void Contest::close() {
  state_->closed = true;
  state_->may_join = 0;
}

void Contest::report(std::span<const Sample> samples) {
  auto& state = *state_;
  ATTUNE_CHECK(samples.size() == state.wanted.size(), "expected {} samples, got {}", state.wanted.size(),
               samples.size());
  const bool discarded = state.exhaustive && state.exhaustive->is_warmup();
  for (size_t i = 0; i < samples.size() && !discarded; ++i) {
    state.contestants.samples().add(state.wanted[i].slot, state.wanted[i].round, samples[i]);
  }
  const auto turns = std::exchange(state.wanted, {});
  if (state.exhaustive) {
    state.exhaustive->reported();
  } else if (state.phase == Phase::race) {
    state.race.reported(turns);
    for (const Slot slot : state.race.take_dropped()) state.dropped.push_back(slot);
  }
}

void Contest::interrupt() {
  auto& state = *state_;
  state.wanted.clear();
  if (state.exhaustive) return;
  if (state.phase == Phase::finals) state.start_finals();
  if (state.confirm) state.confirm->interrupt();
  if (state.publish) state.publish->interrupt();
}

void Contest::withdraw(Slot slot) {
  auto& state = *state_;
  ATTUNE_CHECK(state.contestants.has(slot), "slot {} takes no part", slot);
  std::erase(state.finalists, slot);
  state.race.withdraw(slot);
  std::erase(state.dropped, slot);
  state.contestants.remove(slot);
  restart();
}

void Contest::restart() {
  auto& state = *state_;
  state.wanted.clear();
  if (state.phase == Phase::race) return;
  if (!state.exhaustive) return state.start_finals();
  state.result = {};
  state.phase = Phase::finals;  // Its samples stay, and decide again.
}

void Contest::delayed() { state_->waited = true; }
void Contest::renewed() {
  auto& state = *state_;
  ATTUNE_CHECK(state.confirm || state.publish, "a contest wants a fresh worker for its confirm and publish only");
  ++state.pairing;
  if (state.confirm)
    state.confirm->renewed();
  else
    state.publish->renewed();
}
uint32_t Contest::pairing() const noexcept { return state_->pairing; }
void Contest::cut() { state_->cut = true; }

Phase Contest::phase() const noexcept { return state_->phase; }

std::vector<Slot> Contest::take_dropped() { return std::exchange(state_->dropped, {}); }

std::vector<Slot> Contest::finalists() const {
  return state_->phase == Phase::race ? std::vector<Slot>() : state_->finalists;
}

Measurement Contest::measurement(Slot slot, Rounds rounds) const {
  return state_->contestants.measurement(slot, rounds);
}

Rounds Contest::rounds_since_race() const {
  return state_->finals ? Rounds{.first = state_->finals->rounds().first} : Rounds{};
}

double Contest::median_us(Slot slot) const {
  const double us = state_->contestants.samples().median_us(slot);
  return std::isfinite(us) ? us : 0;
}

void Contest::deny(std::string reason) {
  auto& state = *state_;
  state.is_denied = true;
  state.result.reason = std::move(reason);
  state.settle_unproven();
  if (state.confirm) state.tie_by_openings(state.confirm->openings());
  state.finish();
}

ContestResult Contest::result() const {
  ATTUNE_CHECK(state_->phase == Phase::finished, "a contest has a result when it is finished");
  return state_->result;
}

}  // namespace attune
