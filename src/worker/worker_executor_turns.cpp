// SPDX-License-Identifier: MIT
// The part of WorkerExecutor that waits for its turn on a device that other executors use, too.
#include <chrono>
#include <utility>

#include "worker/worker_executor.h"

namespace attune {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

/// Whether the executor may use its device so now; if not, it waits for its turn.
bool WorkerExecutor::has_device_for(SharedDevice::Use use) {
  if (!user_) return true;
  if (!user_->acquire(use)) {
    if (!queues_since_) queues_since_ = Clock::now();
    return false;
  }
  if (queues_since_) queued_s_ += seconds_between(*std::exchange(queues_since_, std::nullopt), Clock::now());
  return true;
}

/// Gives up the turn. No worker may end during another executor's samples, so it first waits for that end.
void WorkerExecutor::leave_device() {
  queues_since_.reset();
  if (!user_) return;
  wait_for_end();
  user_->release();
}

}  // namespace attune
