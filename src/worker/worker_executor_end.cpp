// SPDX-License-Identifier: MIT
// The part of WorkerExecutor that ends workers.
#include <algorithm>
#include <chrono>
#include <utility>
#include <variant>

#include "device/device_kind.h"
#include "measure/bench.h"
#include "ops/op.h"
#include "worker/worker_executor.h"

namespace attune {
namespace {

using Clock = std::chrono::steady_clock;

/// Fresh workers in which a candidate did not load either.
constexpr uint32_t kMaxVainReloads = 3;
/// Part of the device's memory that the problems of the worker that ends and of the next one may take together. The
/// rest has room for packed weights and workspaces, whose size is not known here.
constexpr double kPartOfBoth = 0.25;

double bytes_of(const request::Open& one, const DeviceInfo& device) {
  return bench_bytes(op_of(one.problem), one.problem, one.protocol, device);
}

double bytes_of(const OpenProblems& problems, const DeviceInfo& device) {
  double bytes = 0;
  for (const auto& [id, one] : problems.all()) bytes += bytes_of(one.opened, device);
  return bytes;
}

}  // namespace

/// The next request starts a fresh worker. A wait in here counts as time of the change of workers.
void WorkerExecutor::replace() {
  const auto began = Clock::now();
  set_worker(nullptr);
  time_[Activity::start].wall_s += seconds_between(began, Clock::now());
  isolated_problem_.reset();
  ++epoch_;
}

/// Whether a candidate that did not load is tried once more, in a fresh worker: a context may refuse what the next one
/// loads. After several that it did not help, the machine is assumed to refuse them all.
bool WorkerExecutor::wants_fresh_context(Slot slot, Status status) {
  const bool is_second = reloading_ == slot;
  reloading_.reset();
  if (status != Status::load_failed) return false;
  if (is_second) ++num_vain_reloads_;
  if (is_second || num_vain_reloads_ >= kMaxVainReloads) return false;
  reloading_ = slot;
  replace();
  return true;
}

/// Kills the last worker first.
void WorkerExecutor::set_worker(std::unique_ptr<WorkerProcess> worker) {
  if (worker_) {
    poll_set_.forget(worker_->descriptor());
    let_end(std::move(worker_));
  }
  worker_ = std::move(worker);
  if (worker_) poll_set_.watch(worker_->descriptor());
}

/// Kills a worker. With WorkerOptions::spare it does not wait for the end, except for the end of an earlier worker.
void WorkerExecutor::let_end(std::unique_ptr<WorkerProcess> worker) {
  if (!options_.spare || !has_room_for_two() || worker->has_ended()) return;
  wait_for_end();
  ending_.emplace(std::move(worker), bytes_of(problems_, device_));
  poll_set_.watch(ending_->descriptor());
}

void WorkerExecutor::wait_for_end() {
  if (ending_) poll_set_.forget(ending_->descriptor());
  ending_.reset();
}

void WorkerExecutor::look_at_end() {
  if (ending_ && ending_->is_gone()) wait_for_end();
}

/// Whether a second worker leaves the first one its memory. On a device that others use, the free part counts.
bool WorkerExecutor::has_room_for_two() const {
  constexpr double kWorkersOfMemory = 3;
  const DeviceKind* const kind = find_device_kind(options_.device);
  if (kind == nullptr || kind->idle_worker_bytes == 0) return true;
  const double taken = static_cast<double>(options_.device_memory_reserve) + bytes_of(problems_, device_);
  return static_cast<double>(free_bytes_) - taken >= kWorkersOfMemory * static_cast<double>(kind->idle_worker_bytes);
}

/// Ends the spare and the ending worker if a request lacks memory; no spare worker starts again. True if there was
/// one: retry the request.
bool WorkerExecutor::makes_room(bool lacks_memory) {
  if (!lacks_memory || (!spare_ && !ending_)) return false;
  options_.spare = false;
  end_spare();
  wait_for_end();
  return true;
}

/// Whether the worker that ends holds memory that the next one may need.
bool WorkerExecutor::needs_memory_of_ending(const request::Open* next) const {
  if (!ending_) return false;
  double bytes = ending_->device_bytes() + bytes_of(problems_, device_);
  if (next != nullptr && !problems_.all().contains(next->id)) bytes += bytes_of(*next, device_);
  const double all = std::min(static_cast<double>(device_.memory_bytes), static_cast<double>(free_bytes_));
  return bytes > kPartOfBoth * options_.device_memory_share * all;
}

/// Whether a request has to wait until the last worker's process is gone. The end of its context would disturb samples.
/// The request in which it was killed may keep the device busy, and the next candidates would be blamed for the time.
bool WorkerExecutor::waits_for_end(const WorkerRequest& request) const {
  if (!ending_) return false;
  if (std::holds_alternative<request::Sample>(request)) return true;
  const auto* const open = std::get_if<request::Open>(&request);
  if (open == nullptr && !std::holds_alternative<request::Admit>(request)) return false;
  if (ending_->was_busy()) return true;
  return needs_memory_of_ending(open);
}

/// Waits until the request can be sent. Throws StopRequest.
void WorkerExecutor::await_end(const WorkerRequest& request) {
  if (!waits_for_end(request)) return;
  const auto began = Clock::now();
  while (waits_for_end(request)) {
    throw_if_stopped();
    poll_set_.wait(kLook);
    serve_spare();
  }
  note_change(began);
}

/// Counts the time since `since` as a change of workers; the worker waited during it.
void WorkerExecutor::note_change(Clock::time_point since) {
  const auto now = Clock::now();
  time_[Activity::start].wall_s += seconds_between(since, now);
  told_at_ += now - since;
}

}  // namespace attune
