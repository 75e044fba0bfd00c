// SPDX-License-Identifier: MIT
#include "tuner/tuner.h"

#include <algorithm>
#include <array>
#include <exception>
#include <list>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "device/core_binding.h"
#include "tuner/cost_forecast.h"
#include "tuner/problem_run.h"
#include "tuner/work_queue.h"

namespace attune {
namespace {

/// Two problems are open at a time: one waits for its confirmation while the other races.
constexpr size_t kOpenProblems = 2;
constexpr double kForever = 1e300;
/// A problem is cut after this many times its share of the budget, so that it cannot use up the time of the others.
constexpr double kMaxShares = 2;

/// One lane of one call of Tuner::run().
class LaneRun {
 public:
  /// State that the lanes of a run share.
  struct SharedState {
    const std::vector<WorkItem>& items;
    WorkQueue& queue;
    size_t num_lanes;
    std::once_flag has_begun;  ///< Guards before_measuring.
    std::vector<TuneResult>& results;
  };
  LaneRun(TuningContext& context, SharedState& shared)
      : context_(context),
        items_(shared.items),
        queue_(shared.queue),
        num_lanes_(static_cast<double>(shared.num_lanes)),
        has_begun_(shared.has_begun),
        results_(shared.results),
        began_s_(context.clock.now_s()) {
    context_.left_s = [this] { return left_s(); };
    context_.must_stop = [this] { return context_.interrupted() || left_s() <= 0; };
  }

  void run() {
    while (!active_.empty() || !queue_.empty()) {
      if (context_.interrupted())
        end_all("interrupted before a decision", &ProblemRun::abandon);
      else if (left_s() <= 0)
        end_all("the budget ran out before a decision", &ProblemRun::cut);
      if (Active* ready = next_ready())
        step(*ready);
      else if (active_.size() < kOpenProblems && begin_next())
        continue;
      else if (Active* waiting = next_without_worker())
        renew_worker(*waiting);
      else
        wait_for_active();
    }
  }

  /// Returns the active problems to the queue for other lanes, because the device was lost.
  void give_back() {
    for (const Active& one : active_) queue_.give_back(one.index);
    active_.clear();
  }

 private:
  struct Active {
    size_t index = 0;
    std::unique_ptr<ProblemRun> run;
    double share_s = 0;  ///< Share of the budget.
  };

  double left_s() const {
    return context_.options.budget_s > 0 ? began_s_ + context_.options.budget_s - context_.clock.now_s() : kForever;
  }

  /// The oldest active run that has work in the present worker; null if all wait.
  Active* next_ready() {
    const double now_s = context_.clock.now_s();
    for (Active& one : active_) {
      if (one.run->ready_at_s() <= now_s && !one.run->needs_fresh_worker()) return &one;
    }
    return nullptr;
  }

  /// The oldest active run that waits for a fresh worker; null if none does. It waits until all others wait, too, so
  /// that no race must be restored and no final restarts, and one recycle may serve several. With a budget the others
  /// wait once they have used up their shares, so it keeps its own.
  Active* next_without_worker() {
    for (Active& one : active_) {
      if (one.run->needs_fresh_worker()) return &one;
    }
    return nullptr;
  }

  void renew_worker(Active& active) {
    active.run->renew_worker();
    hold_to_budget(active);
  }

  bool begin_next() {
    // The time left is divided by the expected costs of the problems. If it does not suffice for all, the first
    // problems still get the time they need, because half-measured shapes are useless.
    const double shares = std::max(1.0, num_lanes_ * left_s() / queue_.cost_left_s());
    const auto index = queue_.take();
    if (!index) return false;
    active_.push_back({*index, std::make_unique<ProblemRun>(context_, static_cast<ProblemId>(*index), items_[*index]),
                       shares * queue_.cost_s(*index)});
    return true;
  }

  void begin_measuring() {
    if (!context_.options.before_measuring) return;
    const double before_s = context_.clock.now_s();
    std::call_once(has_begun_, context_.options.before_measuring);
    began_s_ += context_.clock.now_s() - before_s;
  }

  void step(Active& active) {
    if (active.run->is_about_to_measure()) begin_measuring();
    active.run->step();
    if (active.run->finished())
      finish(active);
    else
      hold_to_budget(active);
  }

  void finish(Active& active) {
    const size_t index = active.index;
    results_[index] = active.run->result();
    queue_.done(index);
    active_.remove_if([&](const Active& one) { return one.index == index; });
    context_.observer.finished(results_[index]);
  }

  void hold_to_budget(Active& active) {
    const TunerOptions& options = context_.options;
    const double busy_s = active.run->busy_s();
    if (options.problem_timeout_s > 0 && busy_s > options.problem_timeout_s)
      active.run->cut("--timeout passed before a decision");
    if (options.budget_s <= 0) return;
    if (busy_s > active.share_s) active.run->stop_asking();
    const bool others_wait = queue_.num_left() > 1;
    if (others_wait && busy_s > kMaxShares * active.share_s) {
      active.run->cut("the shape's time share ran out before a decision");
    }
  }

  void end_all(const std::string& reason, void (ProblemRun::*end)(const std::string&)) {
    for (Active& one : active_) (one.run.get()->*end)(reason);
    while (const auto index = queue_.take()) {
      results_[*index].ending = Ending::cut;
      results_[*index].reason = reason;
      queue_.done(*index);
      context_.observer.finished(results_[*index]);
    }
  }

  /// Sleeps while all active runs wait; briefly, so that an interrupt does not wait for the whole delay.
  void wait_for_active() {
    constexpr double kMaxSleepS = 0.2;
    double ready_s = kForever;
    for (const Active& one : active_) ready_s = std::min(ready_s, one.run->ready_at_s());
    context_.clock.sleep_s(std::clamp(std::min(ready_s - context_.clock.now_s(), left_s()), 0.0, kMaxSleepS));
  }

  TuningContext& context_;
  const std::vector<WorkItem>& items_;
  WorkQueue& queue_;
  double num_lanes_;
  std::once_flag& has_begun_;
  std::vector<TuneResult>& results_;
  double began_s_;
  std::list<Active> active_;
};

/// Lets the lanes' threads call the observer one at a time.
class SharedObserver final : public TuneObserver {
 public:
  explicit SharedObserver(TuneObserver& inner) : inner_(inner) {}
  void progress(const Problem& problem, Phase phase, size_t num_alive) override {
    const std::lock_guard lock(mutex_);
    inner_.progress(problem, phase, num_alive);
  }
  void finished(const TuneResult& result) override {
    const std::lock_guard lock(mutex_);
    inner_.finished(result);
  }

 private:
  std::mutex mutex_;
  TuneObserver& inner_;
};

/// Error that ended a lane.
struct LaneFailure {
  std::exception_ptr error;
  bool device = false;
};

}  // namespace

Tuner::Tuner(Executor& executor, Journal& journal, TunerOptions options, Clock& clock, Kernels* kernels)
    : Tuner({TuningLane{executor, journal, kernels, {}}}, std::move(options), clock) {}

Tuner::Tuner(std::vector<TuningLane> lanes, TunerOptions options, Clock& clock)
    : lanes_(std::move(lanes)), options_(std::move(options)), clock_(clock) {}

std::vector<TuneResult> Tuner::run(const std::vector<WorkItem>& items, TuneObserver& observer,
                                   const std::atomic<bool>& interrupted) {
  std::vector<TuneResult> results(items.size());
  std::vector<double> costs_s;
  for (size_t i = 0; i < items.size(); ++i) {
    results[i].problem = items[i].problem;
    costs_s.push_back(expected_cost_s(items[i].problem, lanes_.front().executor.device()));
  }
  WorkQueue queue(std::move(costs_s), lanes_.size() > 1);
  SharedObserver shared(observer);
  LaneRun::SharedState common{items, queue, lanes_.size(), {}, results};
  std::atomic<bool> stop = false;
  std::vector<LaneFailure> failures(lanes_.size());
  const auto run_lane = [&](size_t number) {
    TuningLane& lane = lanes_[number];
    const CoreBinding binding(lane.cores);
    TuningContext context{lane.executor,
                          lane.journal,
                          options_,
                          clock_,
                          shared,
                          lane.kernels,
                          {},
                          {},
                          [&] { return interrupted || stop; },
                          NeighbourIndex(lane.executor.device().fingerprint())};
    LaneRun campaign(context, common);
    try {
      campaign.run();
    } catch (const Error& error) {
      failures[number] = {std::current_exception(), error.code() == ErrorCode::device};
      campaign.give_back();
    } catch (...) {
      failures[number] = {std::current_exception(), false};
    }
    if (failures[number].error && !failures[number].device) stop = true;
  };
  // The last lane runs on the caller's thread, so a run on one device starts no other thread.
  std::vector<std::thread> threads;
  for (size_t number = 0; number + 1 < lanes_.size(); ++number) threads.emplace_back(run_lane, number);
  run_lane(lanes_.size() - 1);
  for (std::thread& thread : threads) thread.join();
  // If a lane was lost after the others had ended, a surviving one takes its problems.
  for (size_t number = 0; number < lanes_.size() && !queue.empty() && !stop; ++number) {
    if (!failures[number].error) run_lane(number);
  }
  for (const LaneFailure& failure : failures) {
    if (failure.error && (!failure.device || queue.num_left() > 0)) std::rethrow_exception(failure.error);
  }
  return results;
}

}  // namespace attune
