// SPDX-License-Identifier: MIT
// The part of LocalExecutor that times candidates, and verifies them again afterwards.
#include <algorithm>
#include <functional>
#include <set>

#include "base/error.h"
#include "measure/local_executor.h"

namespace attune {

/// Verifies candidates again in the buffers in which they were timed. After the first failure this process is suspect,
/// so no other candidate is blamed for a fault found in it.
SampleAnswer LocalExecutor::recheck(const std::vector<Turn>& turns) {
  const ActivityScope checking(device_.time(), Activity::recheck);
  SampleAnswer answer{.epoch = epoch_};
  std::map<OpenProblem*, std::vector<Turn>> by_problem;
  for (const Turn& turn : turns) {
    if (OpenProblem* open_problem = open_problem_of(turn.slot))
      by_problem[open_problem].push_back(turn);
    else if (auto lost = lost_.extract(turn.slot))
      answer.failed.emplace_back(turn.slot, std::move(lost.mapped()));
  }
  for (auto& [open_problem, its_turns] : by_problem) {
    const auto evaluate_slot = [&, of = open_problem](Slot slot, const std::function<Finding()>& step) {
      const CandidateScope running(running_, of->admitted.at(slot).candidate);
      return evaluate_step(Step::run, step);
    };
    auto failed = open_problem->bench->recheck(its_turns, evaluate_slot, answer.launches);
    announce(0, {});
    if (!failed || failed->second.status == Status::cancelled) continue;
    give_back(*open_problem, failed->first);
    answer.failed.push_back(std::move(*failed));
    answer.suspect = true;
    break;
  }
  settle(device_, {}, false);
  if (answer.suspect && !steps_.is_watched()) answer.epoch = this->answer(request::Recycle{}).epoch;
  return answer;
}

SampleAnswer LocalExecutor::answer(const request::Sample& sample) {
  if (sample.recheck) return recheck(sample.schedule);
  const ActivityScope sampling(device_.time(), Activity::sample);
  const auto& schedule = sample.schedule;
  const bool has_one_slot =
      std::ranges::adjacent_find(schedule, std::ranges::not_equal_to(), &Turn::slot) == schedule.end();
  const bool checks_each_turn = checks_each_turn_ || has_one_slot;
  SampleAnswer answer = take_turns(schedule, checks_each_turn);
  announce(0, {});
  if (!checks_each_turn && !are_operands_intact()) {
    checks_each_turn_ = true;
    this->answer(request::Recycle{});
    answer = {.epoch = epoch_, .interrupted = true};
  }
  // Only now: if the turns do not count, the failed slots must keep their plans.
  for (const auto& [slot, outcome] : answer.failed) {
    if (OpenProblem* open_problem = open_problem_of(slot)) give_back(*open_problem, slot);
  }
  announce(0, {});
  // Later work in this process (the tuner, a check for quiet) needs its thread unpinned and the pools at rest.
  settle(device_, {}, false);
  left_threads_.end_schedule(schedule);
  return answer;
}

SampleAnswer LocalExecutor::take_turns(const std::vector<Turn>& schedule, bool checks_each_turn) {
  SampleAnswer answer{.epoch = epoch_};
  std::set<Slot> failed;
  const auto fail_slot = [&](Slot slot, Outcome outcome) {
    failed.insert(slot);
    answer.failed.emplace_back(slot, std::move(outcome));
    for (size_t i = answer.turns.size(); i-- > 0;) {
      if (answer.turns[i].slot != slot) continue;
      answer.turns.erase(answer.turns.begin() + static_cast<std::ptrdiff_t>(i));
      answer.samples.erase(answer.samples.begin() + static_cast<std::ptrdiff_t>(i));
    }
  };
  for (const Turn& turn : schedule) {
    if (steps_.was_stopped()) break;
    if (failed.contains(turn.slot)) continue;
    OpenProblem* open_problem = open_problem_of(turn.slot);
    if (open_problem == nullptr) {  // not restored, or was never admitted
      if (auto lost = lost_.extract(turn.slot)) answer.failed.emplace_back(turn.slot, std::move(lost.mapped()));
      continue;
    }
    Bench* bench = open_problem->bench.get();
    left_threads_.begin_turn();
    const CandidateScope running(running_, open_problem->admitted.at(turn.slot).candidate);
    Bench::Sampling taken;
    Outcome outcome = evaluate_step(Step::run, [&]() -> Finding {
      taken = bench->take(turn);
      const std::string reason = bench->why_implausible(taken.sample.us);
      return reason.empty() ? Finding{} : Finding{Status::implausible_time, reason, {}};
    });
    const LeftThreads::Verdict threads = left_threads_.end_turn(turn.slot);
    if (checks_each_turn) check_operands(turn.slot);
    answer.launches += taken.launches;
    answer.dropped += taken.dropped;
    if (threads.is_void) taken.sample.us = 0;
    if (outcome.ok()) {
      answer.turns.push_back(turn);
      answer.samples.push_back(taken.sample);
    } else {
      fail_slot(turn.slot, std::move(outcome));
    }
    if (threads.faulty != 0 && !failed.contains(threads.faulty)) {
      fail_slot(threads.faulty, LeftThreads::outcome());
      answer.suspect = true;
    }
  }
  return answer;
}

}  // namespace attune
