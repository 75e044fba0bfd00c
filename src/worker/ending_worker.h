// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <utility>

#include "worker/worker_process.h"

namespace attune {

/// A worker that is no longer needed, from its kill until its process is gone. A worker that used a GPU takes 0.1 to
/// 0.2 s to end, as its context does. Until then it holds its memory of the device. Not thread-safe.
class EndingWorker {
 public:
  /// Kills the worker. `device_bytes`: the device's memory that its problems took.
  EndingWorker(std::unique_ptr<WorkerProcess> worker, double device_bytes)
      : process_(std::move(worker)), device_bytes_(device_bytes) {
    process_->kill();
  }

  /// For poll(): readable once the process is gone.
  int descriptor() const noexcept { return process_->end_descriptor(); }
  bool is_gone() { return process_->has_ended(); }
  /// Whether it was killed in the middle of a request: its launches may keep the device busy until it is gone.
  bool was_busy() const noexcept { return process_->is_busy(); }
  double device_bytes() const noexcept { return device_bytes_; }

 private:
  std::unique_ptr<WorkerProcess> process_;  ///< Its destructor waits for the process and cleans up after it.
  double device_bytes_;
};

}  // namespace attune
