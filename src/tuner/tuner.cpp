// SPDX-License-Identifier: MIT
#include "tuner/tuner.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <latch>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "base/error.h"
#include "base/mutex.h"
#include "device/core_binding.h"
#include "device/device_kind.h"
#include "tuner/compiling_executor.h"
#include "tuner/history/decision_recall.h"
#include "tuner/problem/cost_forecast.h"
#include "tuner/problem_run.h"
#include "tuner/work_list.h"

namespace attune {
namespace {

constexpr double kForever = 1e300;
/// A request that is outstanding this long after the end of the budget is aborted: its own deadlines may be a minute.
constexpr double kMaxOverrunS = 5;
/// A problem is cut after this many times its share of the budget, so that it cannot use up the time of the others.
constexpr double kMaxShares = 2;

/// The work of one device in one call of Tuner::run().
class DeviceRun {
 public:
  /// State that the runs of all devices share.
  struct SharedState {
    WorkSource& source;
    size_t num_devices;
    std::once_flag has_begun;  ///< Guards before_measuring.
  };
  DeviceRun(TuningContext& context, SharedState& shared)
      : context_(context),
        source_(shared.source),
        num_devices_(static_cast<double>(shared.num_devices)),
        max_open_(device_kind(context.executor.device().kind).max_open_problems),
        has_begun_(shared.has_begun),
        began_s_(context.clock.now_s()) {
    context_.left_s = [this] { return left_s(); };
    context_.tick = [this, tick = std::move(context_.tick)] { return tick() || left_s() < -kMaxOverrunS; };
    context_.must_stop = [this] {
      context_.observer.tick();
      return context_.interrupted() || left_s() <= 0;
    };
  }

  /// Returns why work was left to the source; an empty text if none was.
  std::string run() {
    std::string ended;
    while (!active_.empty() || (ended.empty() && (next_ || source_.remaining().num_waiting > 0))) {
      context_.observer.tick();
      if (context_.interrupted())
        end_all(ended = "interrupted before a decision", &ProblemRun::abandon);
      else if (left_s() <= 0)
        end_all(ended = "the budget ran out before a decision", &ProblemRun::cut);
      if (!ended.empty()) give_back_next();
      if (active_.empty() && !ended.empty()) break;
      abandon_lost();
      if (ended.empty() && may_open_ahead() && begin_next())
        step(active_.back());
      else if (Active* ready = next_ready())
        step(*ready);
      else if (num_open() < max_open_ && (begin_part() || (ended.empty() && begin_next())))
        continue;
      else if (Active* compiling = next_compiling())
        await_compilers(*compiling);
      else if (Active* waiting = next_without_worker())
        renew_worker(*waiting);
      else
        wait_for_active();
    }
    return ended;
  }

  /// Returns the active problems to the source for other devices, because the device was lost.
  void give_back() {
    for (const Active& one : active_) {
      if (!one.is_part) source_.give_back(one.id);
    }
    active_.clear();
    give_back_next();
  }

 private:
  struct Active {
    ProblemId id = 0;
    std::unique_ptr<ProblemRun> run;
    double share_s = 0;    ///< Share of the budget.
    bool is_part = false;  ///< A part of a composite solver's candidates for another active run.
  };

  /// Runs whose problem the executor has open, or will be asked to open.
  size_t num_open() const {
    return static_cast<size_t>(std::count_if(active_.begin(), active_.end(),
                                             [](const Active& one) { return one.run->next_part() == nullptr; }));
  }

  double left_s() const {
    return context_.options.budget_s > 0 ? began_s_ + context_.options.budget_s - context_.clock.now_s() : kForever;
  }

  /// The oldest active run that has work in the present worker now; null if all wait.
  Active* next_ready() {
    return first_of([](ProblemRun& run) { return !run.waits_for_compiler(); });
  }

  /// The oldest active run that could go on if its kernels were there; null if none waits for a compiler alone.
  Active* next_compiling() {
    return first_of([](ProblemRun& run) { return run.waits_for_compiler(); });
  }

  template <typename Condition>
  Active* first_of(const Condition& condition) {
    const double now_s = context_.clock.now_s();
    for (Active& one : active_) {
      if (one.run->ready_at_s() > now_s || one.run->needs_fresh_worker() || one.run->next_part() != nullptr) continue;
      if (condition(*one.run)) return &one;
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

  /// Whether to open the next problem while another one is measured, so that its first kernels are compiled when its
  /// turn comes. The last problems are left to the other devices.
  bool may_open_ahead() {
    if (!context_.options.compiles_beside_measuring || context_.kernels == nullptr) return false;
    if (active_.empty() || num_open() >= max_open_) return false;
    const auto is_ahead = [](const Active& one) { return one.run->state() <= ProblemRun::State::admitting; };
    return std::none_of(active_.begin(), active_.end(), is_ahead) &&
           (next_ || static_cast<double>(source_.remaining().num_waiting) >= num_devices_);
  }

  void await_compilers(Active& active) {
    active.run->await_compilers();
    context_.executor.take();  // It looks after a worker that starts, for which others of its device may wait.
    hold_to_budget(active);
  }

  void renew_worker(Active& active) {
    active.run->renew_worker();
    hold_to_budget(active);
  }

  bool begin_next() {
    // The time left is divided by the expected costs of the problems. If it does not suffice for all, the first
    // problems still get the time they need, because half-measured shapes are useless.
    const double shares = std::max(1.0, num_devices_ * left_s() / source_.remaining().cost_s);
    const auto task = next_ ? std::exchange(next_, std::nullopt) : source_.take();
    if (!task) return false;
    active_.push_back({task->id, std::make_unique<ProblemRun>(context_, task->id, task->item),
                       shares * expected_cost_s(task->item.problem, context_.executor.device())});
    take_ahead();
    return true;
  }

  /// Takes the next problem while this one is measured, so that its candidates are listed when its turn comes. The last
  /// problems are left to whoever is free first.
  void take_ahead() {
    constexpr double kLeftToEachOther = 2;
    if (static_cast<double>(source_.remaining().num_waiting) > kLeftToEachOther * (num_devices_ - 1))
      next_ = source_.take();
    if (next_) context_.executor.prefetch(request::Open{0, next_->item.problem, context_.options.protocol, {}});
  }

  void give_back_next() {
    if (next_) source_.give_back(std::exchange(next_, std::nullopt)->id);
  }

  /// Begins to tune a part that an active run waits for, for its short list.
  bool begin_part() {
    for (const Active& one : active_) {
      const Problem* part = one.run->next_part();
      const bool is_active = part == nullptr || std::any_of(active_.begin(), active_.end(), [&](const Active& other) {
                               return other.is_part && other.run->result().problem == *part;
                             });
      if (is_active) continue;
      const ProblemId id = context_.next_part--;
      const WorkItem item{.problem = *part, .goal = Goal::short_list};
      active_.push_back({id, std::make_unique<ProblemRun>(context_, id, item), one.share_s, true});
      return true;
    }
    return false;
  }

  void begin_measuring() {
    if (!context_.options.before_measuring) return;
    const double before_s = context_.clock.now_s();
    std::call_once(has_begun_, context_.options.before_measuring, context_.tick);
    const double waited_s = context_.clock.now_s() - before_s;
    began_s_ += waited_s;
    context_.paused_s += waited_s;
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
    const ProblemId id = active.id;
    const bool is_part = active.is_part;
    const TuneResult result = active.run->result();
    active_.remove_if([&](const Active& one) { return one.id == id; });
    if (is_part) return note_part(result);
    source_.done(id, result);
    context_.observer.finished(result);
  }

  void note_part(const TuneResult& result) {
    PartResult& known = context_.parts[result.problem.key()];
    for (const ShortListEntry& one : result.short_list) known.short_list.push_back(one.candidate);
    known.reason = result.reason;
  }

  void hold_to_budget(Active& active) {
    const TunerOptions& options = context_.options;
    const double busy_s = active.run->busy_s();
    if (options.problem_timeout_s > 0 && busy_s > options.problem_timeout_s)
      active.run->cut("--timeout passed before a decision");
    if (options.budget_s <= 0) return;
    if (busy_s > active.share_s) active.run->stop_asking();
    const auto left = source_.remaining();
    const bool others_wait = left.num_waiting + left.num_open > 1;
    if (others_wait && busy_s > kMaxShares * active.share_s) {
      active.run->cut("the shape's time share ran out before a decision");
    }
  }

  void end_all(const std::string& reason, void (ProblemRun::*end)(const std::string&)) {
    for (Active& one : active_) (one.run.get()->*end)(reason);
  }

  void abandon_lost() {
    for (Active& one : active_) {
      if (!one.is_part && source_.is_lost(one.id)) one.run->abandon("it was given up before a decision");
    }
  }

  /// Sleeps while all active runs wait; briefly, so that an interrupt does not wait for the whole delay.
  void wait_for_active() {
    constexpr double kMaxSleepS = 0.2;
    double ready_s = kForever;
    for (const Active& one : active_) {
      if (one.run->next_part() == nullptr) ready_s = std::min(ready_s, one.run->ready_at_s());
    }
    const double now_s = context_.clock.now_s();
    context_.clock.sleep_s(std::clamp(std::min(ready_s - now_s, left_s()), 0.0, kMaxSleepS));
    context_.executor.take();  // As above.
    context_.paused_s += context_.clock.now_s() - now_s;
  }

  TuningContext& context_;
  WorkSource& source_;
  double num_devices_;
  size_t max_open_;  ///< Problems open at a time: others race while one waits for its confirmation.
  std::once_flag& has_begun_;
  double began_s_;
  std::list<Active> active_;
  std::optional<WorkSource::Task> next_;  ///< Taken ahead.
};

/// Ends the problems that wait without measuring: those that were decided before as kept or reused, the others as cut,
/// also those that the device has no memory for. The rest goes on waiting after an interrupt, or when the device is
/// lost.
void look_up_waiting(TuningContext& context, WorkList& list, const std::string& reason) {
  const auto known = problems_with_decisions(context.journal, context.executor.device().fingerprint());
  while (!context.interrupted()) {
    const auto task = list.take();
    if (!task) return;
    TuneResult result{.problem = task->item.problem, .ending = Ending::cut, .reason = reason};
    if (task->item.has_row || known.contains(task->item.problem.key())) {
      ProblemRun run(context, task->id, task->item);
      run.cut(reason);
      try {
        // Nothing is run, so what keeps the executor busy after a step stays: a problem that nobody closes.
        do {
          run.step();
        } while (!run.finished() && run.state() != ProblemRun::State::opening && !context.interrupted());
        if (context.interrupted() && !run.finished()) return list.give_back(task->id);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::device) throw;
        return list.give_back(task->id);
      }
      if (run.finished()) result = run.result();
    }
    list.done(task->id, result);
    context.observer.finished(result);
  }
}

/// Lets the devices' threads call the observer one at a time.
class SharedObserver final : public TuneObserver {
 public:
  explicit SharedObserver(TuneObserver& inner) : inner_(inner) {}
  void progress(const Problem& problem, Phase phase, size_t num_alive) override {
    const Lock lock(mutex_);
    inner_.progress(problem, phase, num_alive);
  }
  void compiling(const Problem& problem, size_t num_candidates) override {
    const Lock lock(mutex_);
    inner_.compiling(problem, num_candidates);
  }
  void finished(const TuneResult& result) override {
    const Lock lock(mutex_);
    inner_.finished(result);
  }
  void device_ended(const TimeUse& time) override {
    const Lock lock(mutex_);
    inner_.device_ended(time);
  }
  void device_lost(const DeviceInfo& device, const std::string& why) override {
    const Lock lock(mutex_);
    inner_.device_lost(device, why);
  }
  void worker_lost(const DeviceInfo& device, const std::string& why) override {
    const Lock lock(mutex_);
    inner_.worker_lost(device, why);
  }
  void tick() override {
    const Lock lock(mutex_);
    inner_.tick();
  }

 private:
  Mutex mutex_;
  TuneObserver& inner_ ATTUNE_GUARDED_BY(mutex_);
};

/// How many workers each device of a run still has. Thread-safe.
class WorkerCounts {
 public:
  explicit WorkerCounts(std::span<const TuningDevice> devices) {
    for (const TuningDevice& one : devices) ++left_[one.executor.device().id];
  }
  bool are_of_one_device() {
    const Lock lock(mutex_);
    return left_.size() == 1;
  }
  /// Returns how many the device has left without one that was lost.
  size_t lose(const std::string& id) {
    const Lock lock(mutex_);
    return --left_[id];
  }

 private:
  Mutex mutex_;
  std::map<std::string, size_t> left_ ATTUNE_GUARDED_BY(mutex_);
};

/// Error that ended the run of a device.
struct DeviceFailure {
  std::exception_ptr error;
  bool device = false;
};

}  // namespace

Tuner::Tuner(Executor& executor, Journal& journal, TunerOptions options, Clock& clock, Kernels* kernels)
    : Tuner({TuningDevice{executor, journal, kernels, {}}}, std::move(options), clock) {}

Tuner::Tuner(std::vector<TuningDevice> devices, TunerOptions options, Clock& clock)
    : devices_(std::move(devices)), options_(std::move(options)), clock_(clock) {}

std::vector<TuneResult> Tuner::run(const std::vector<WorkItem>& items, TuneObserver& observer,
                                   const std::atomic<bool>& interrupted) {
  WorkList list(items, devices_.front().executor.device(), devices_.size() > 1);
  const RunEnd end = run_devices(list, observer, interrupted);
  if (!end.reason.empty() && !options_.retune && !interrupted) {
    for (TuningDevice* device : end.survivors) {
      TuningContext context = context_of(*device, device->executor, observer, [&] { return interrupted.load(); });
      context.left_s = [] { return 0.0; };
      context.must_stop = context.tick;
      look_up_waiting(context, list, end.reason);
    }
  }
  list.cut_waiting(end.reason, observer);
  return list.take_results();
}

TuningContext Tuner::context_of(TuningDevice& device, Executor& executor, TuneObserver& observer,
                                std::function<bool()> is_stopped) {
  const Tick tick = [&observer, is_stopped] {
    observer.tick();
    return is_stopped();
  };
  return {executor,
          device.journal,
          options_,
          clock_,
          observer,
          device.kernels,
          {},
          {},
          std::move(is_stopped),
          tick,
          NeighbourIndex(executor.device().fingerprint())};
}

std::string Tuner::run(WorkSource& source, TuneObserver& observer, const std::atomic<bool>& interrupted) {
  return run_devices(source, observer, interrupted).reason;
}

Tuner::RunEnd Tuner::run_devices(WorkSource& source, TuneObserver& observer, const std::atomic<bool>& interrupted) {
  SharedObserver shared(observer);
  DeviceRun::SharedState common{source, devices_.size(), {}};
  WorkerCounts workers(devices_);
  std::atomic<bool> stop = false;
  std::vector<DeviceFailure> failures(devices_.size());
  std::vector<std::string> endings(devices_.size());
  const auto run_device = [&](size_t number) {
    TuningDevice& device = devices_[number];
    const CoreBinding binding(device.cores);
    std::optional<CompilingExecutor> compiling;
    if (options_.compiles_beside_measuring && device.kernels != nullptr)
      compiling.emplace(device.executor, *device.kernels);
    Executor& executor = compiling ? *compiling : device.executor;
    TuningContext context = context_of(device, executor, shared, [&] { return interrupted || stop; });
    const double began_s = clock_.now_s();
    DeviceRun device_run(context, common);
    try {
      endings[number] = device_run.run();
    } catch (const Error& error) {
      failures[number] = {std::current_exception(), error.code() == ErrorCode::device};
      device_run.give_back();
      if (failures[number].device && workers.lose(executor.device().id) > 0)
        shared.worker_lost(executor.device(), error.what());
      else if (failures[number].device && !workers.are_of_one_device())
        shared.device_lost(executor.device(), error.what());
    } catch (...) {
      failures[number] = {std::current_exception(), false};
    }
    // What came behind the last answer, or has no clock of its own.
    context.time[Activity::wait].wall_s += std::max(0.0, clock_.now_s() - began_s - context.time.wall_s());
    context.time.take_from_wait(Activity::pause, context.paused_s);
    context.time.take_from_wait(Activity::compile, context.compiling_s);
    shared.device_ended(context.time);
    if (failures[number].error && !failures[number].device) stop = true;
  };
  // Workers end with the thread that started them, and those of one device must not end beside another's samples. Until
  // all have ended their executors are looked after: one that waits for its turn may wait for a worker that starts.
  std::latch ended_runs(static_cast<std::ptrdiff_t>(devices_.size()));
  const auto run_beside_others = [&](size_t number) {
    run_device(number);
    ended_runs.count_down();
    Executor& executor = devices_[number].executor;
    try {
      while (!ended_runs.try_wait()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        executor.take();
      }
      if (devices_.size() > 1) executor.prefetch(std::nullopt);
    } catch (const Error&) {
      ended_runs.wait();  // A device that is lost is known already, or will be when it is asked.
    }
  };
  // The last device is run on the caller's thread, so a run on one device starts no other thread.
  std::vector<std::thread> threads;
  for (size_t number = 0; number + 1 < devices_.size(); ++number) threads.emplace_back(run_beside_others, number);
  run_beside_others(devices_.size() - 1);
  for (std::thread& thread : threads) thread.join();
  // If a device was lost after the others had ended, a surviving one takes its problems.
  for (size_t number = 0; number < devices_.size() && source.remaining().num_waiting > 0 && !stop; ++number) {
    if (!failures[number].error && endings[number].empty()) run_device(number);
  }
  const auto ended = std::find_if(endings.begin(), endings.end(), [](const std::string& one) { return !one.empty(); });
  for (const DeviceFailure& failure : failures) {
    const bool is_work_left = source.remaining().num_waiting > 0 && ended == endings.end();
    if (failure.error && (!failure.device || is_work_left)) std::rethrow_exception(failure.error);
  }
  RunEnd end{ended == endings.end() ? "" : *ended, {}};
  for (size_t number = 0; number < devices_.size(); ++number) {
    if (!failures[number].error) end.survivors.push_back(&devices_[number]);
  }
  return end;
}

}  // namespace attune
