// SPDX-License-Identifier: MIT
#include "tuner/tuner.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <latch>
#include <map>
#include <optional>
#include <span>
#include <thread>

#include "base/error.h"
#include "base/mutex.h"
#include "device/core_binding.h"
#include "tuner/compiling_executor.h"
#include "tuner/device_run.h"
#include "tuner/history/decision_recall.h"
#include "tuner/problem_run.h"
#include "tuner/work_list.h"

namespace attune {
namespace {

/// Ends the waiting problems without measuring. Problems decided earlier end as kept or reused. All others end as cut,
/// including those for which the device has no memory. After an interrupt, or when the device is lost, the remaining
/// problems keep waiting.
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
        // An executor that is busy after a step stays busy: nothing runs, so no open problem will close.
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

/// Serialises the calls of the devices' threads to the observer.
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
  /// Notes the loss of a worker and returns how many its device has left.
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
    // Time that no answer has reported: after the last answer, or of work without a clock of its own.
    context.time[Activity::wait].wall_s += std::max(0.0, clock_.now_s() - began_s - context.time.wall_s());
    context.time.take_from_wait(Activity::pause, context.paused_s);
    context.time.take_from_wait(Activity::compile, context.compiling_s);
    shared.device_ended(context.time);
    if (failures[number].error && !failures[number].device) stop = true;
  };
  // A worker ends with the thread that started it, and must not end during another worker's samples on the same device.
  // So the threads wait for each other. Until all runs have ended, each serves its executor: another executor may wait
  // for a worker that this one starts.
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
      ended_runs.wait();  // The loss of a device is known already, or its next request will report it.
    }
  };
  // The last device is run on the caller's thread.
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
