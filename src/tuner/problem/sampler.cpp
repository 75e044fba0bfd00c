// SPDX-License-Identifier: MIT
#include "tuner/problem/sampler.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace attune {
namespace {

constexpr double kPieceS = 2;  // duration of a piece of a schedule, after which the clock is checked

}  // namespace

std::optional<SampleAnswer> Sampler::sample(std::span<const Turn> left, const Contest& contest,
                                            const MaySpend& may_spend, const std::function<void()>& after_piece) {
  SampleAnswer all;
  while (!left.empty() && all.failed.empty() && !all.interrupted) {
    // During the race a decision still needs more time; later it may be reached with part of these turns.
    const double decision_s = contest.phase() == Phase::race ? forecast_.decision_s() : 0;
    if (!may_spend(std::max(forecast_.turns_s(left), decision_s))) return std::nullopt;
    size_t count = 0;
    for (double piece_s = 0; count < left.size() && piece_s <= kPieceS; ++count)
      piece_s += forecast_.turns_s(left.subspan(count, 1));
    const auto turns = left.first(count);
    SampleAnswer piece = attune::sample(executor_, {std::vector(turns.begin(), turns.end())}, tick_);
    // Samples of the race are paired within their rounds, samples of the finals and of an opening with each other. So a
    // new worker before the first of them loses nothing.
    const bool alone = contest.phase() == Phase::race || contest.pairing() != pairing_;
    const bool torn = epoch_ && piece.epoch != *epoch_ && !(alone && all.turns.empty());
    all.interrupted = piece.interrupted || torn;
    present_epoch_ = all.epoch = piece.epoch;
    if (!all.interrupted) epoch_ = piece.epoch;
    num_dropped_ += piece.dropped;
    num_launches_ += piece.launches;
    forecast_.sampled(piece.turns, piece.samples);
    all.turns.insert(all.turns.end(), piece.turns.begin(), piece.turns.end());
    all.samples.insert(all.samples.end(), piece.samples.begin(), piece.samples.end());
    all.failed = std::move(piece.failed);
    left = left.subspan(count);
    if (!left.empty()) after_piece();
  }
  return all;
}

SampleAnswer Sampler::recheck(std::vector<Turn> turns) {
  SampleAnswer answer = attune::sample(executor_, {std::move(turns), true}, tick_);
  present_epoch_ = answer.epoch;
  num_launches_ += answer.launches;
  answer.interrupted |= epoch_ != answer.epoch;
  return answer;
}

}  // namespace attune
