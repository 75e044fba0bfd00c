// SPDX-License-Identifier: MIT
// The part of Bench that verifies timed candidates again.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "measure/bench.h"
#include "measure/operands/other_values.h"
#include "measure/timing.h"

namespace attune {
namespace {

Finding after_timing(Finding found) {
  found.detail = "it was right before it was timed, and is wrong afterwards: " + found.detail;
  return found;
}

}  // namespace

std::optional<std::pair<Slot, Outcome>> Bench::recheck(std::span<const Turn> turns, const EvaluateSlot& evaluate,
                                                       uint64_t& launches) {
  const TestData& data = references_.get_some(Distribution::integers);
  const uint32_t copy = rotation_->next_index();
  std::vector<std::shared_ptr<PackedWeights>> layouts;
  for (const Turn& turn : turns) {
    const auto& weights = plans_.at(turn.slot).weights;
    if (weights && std::ranges::find(layouts, weights) == layouts.end()) layouts.push_back(weights);
  }
  const auto run_all = [&](const std::function<Finding(const Turn&)>& step) {
    std::optional<std::pair<Slot, Outcome>> failed;
    for (const Turn& turn : turns) {
      Outcome outcome = evaluate(turn.slot, [&] { return step(turn); });
      if (outcome.ok()) continue;
      failed.emplace(turn.slot, std::move(outcome));
      break;
    }
    return failed;
  };
  // Each plan must run this copy with its original values first. With few copies, every plan did so while it was timed.
  constexpr uint32_t kFewCopies = 4;
  if (rotation_->size().copies > kFewCopies) {
    auto failed = run_all([&](const Turn& turn) {
      const EntrantPlan& entrant = plans_.at(turn.slot);
      run_again(entrant, entrant.weights ? entrant.weights->copy(copy) : rotation_->copy(copy), turn.limit, launches);
      return Finding{};
    });
    if (failed) return failed;
  }
  announce(0, {});
  OtherValues values(device_, specs_, *rotation_, copy, data.inputs, std::move(layouts));
  auto failed = run_all([&](const Turn& turn) { return recheck_one(turn, copy, data, launches); });
  announce(0, {});
  values.put_back();
  return failed;
}

void Bench::run_again(const EntrantPlan& entrant, std::span<void* const> operands, Milliseconds limit,
                      uint64_t& launches) {
  settle(device_, entrant.pool, false);
  clear_prefix(*entrant.plan);
  announce(entrant.slot, limit);
  const auto start = std::chrono::steady_clock::now();
  launch_on(*entrant.plan, operands, workspace_.data());
  ++launches;
  check_limit(start, limit);
  announce(entrant.slot, {});  // The comparison of a large output takes longer.
}

Finding Bench::recheck_one(const Turn& turn, uint32_t copy, const TestData& data, uint64_t& launches) {
  const EntrantPlan& entrant = plans_.at(turn.slot);
  const auto operands = entrant.weights ? entrant.weights->copy(copy) : rotation_->copy(copy);
  const Buffer output{operands.back(), specs_.back().bytes()};
  std::optional<Hash128> right;
  for (uint32_t i = 0; i < std::max(1u, turn.launches); ++i) {
    device_.memory().fill(output, Poison::of(specs_.back().dtype).element);
    run_again(entrant, operands, turn.limit, launches);
    if (i == 0 || !entrant.plan->traits().deterministic) {
      if (Finding found = verification_.judge(output, data, protocol_.err_ratio); found.status != Status::ok)
        return after_timing(std::move(found));
    }
    const bool repeats = turn.launches > 1 && entrant.plan->traits().deterministic;
    if (!repeats) continue;
    const Hash128 hash = device_.memory().hash(output);
    if (!right) right = hash;
    if (hash == *right) continue;
    return after_timing(
        {Status::wrong_result,
         fmt::format("call {} in a row differs from the first one, which is right, on the same inputs", i + 1),
         {}});
  }
  return {};
}

}  // namespace attune
