// SPDX-License-Identifier: MIT
#pragma once
#include <memory>
#include <optional>
#include <utility>

#include "attune/problem.h"
#include "measure/executor.h"
#include "worker/messages.h"
#include "worker/worker_process.h"

namespace attune {

/// The answers of a worker's solvers on a problem, each with its whole space.
struct Listing {
  Problem problem;
  OpenAnswer answer;
};

/// A second worker that stands by to replace the one that measures. It opens its device, then the libraries of a
/// problem, and lists the problem's candidates, but runs none of them. So it takes over as fresh as a worker that has
/// just been started. Nothing here waits. Not thread-safe.
class SpareWorker {
 public:
  /// Starts the process. `options` must outlive it and the worker of take_over(). Throws what WorkerProcess throws.
  SpareWorker(const WorkerOptions& options, const request::Hello& hello);

  pid_t pid() const noexcept { return process_->pid(); }
  /// For poll(): readable while look() has something to do.
  int descriptor() const noexcept { return process_->descriptor(); }
  /// Takes what the process has answered.
  void look();

  /// Whether it is opening its device, which may disturb samples taken there.
  bool is_starting() const noexcept { return step_ == Step::starting; }
  /// Whether it works on a request.
  bool is_busy() const noexcept { return step_ != Step::idle && step_ != Step::failed; }
  /// Whether it ended, or could not do a request. It cannot be used then.
  bool has_failed() const noexcept { return step_ == Step::failed; }
  /// Whether it was asked to open libraries.
  bool has_libraries() const noexcept { return request_.has_value(); }
  bool is_listing(const Problem& problem) const {
    return step_ == Step::opening && !request_->candidates && request_->problem == problem;
  }

  /// Has it open the libraries of a problem, and list their candidates unless the request is limited to some. Requires:
  /// it is neither busy nor failed. `longest`: see WorkerProcess::ask().
  void open(request::Open request, Milliseconds longest);
  /// Returns its listing, once; nothing if there is no new one.
  std::optional<Listing> take_listing() { return std::exchange(listing_, std::nullopt); }
  /// The worker, with nothing open but its libraries. Requires: it is neither busy nor failed. The object cannot be
  /// used afterwards.
  std::unique_ptr<WorkerProcess> take_over() { return std::move(process_); }

 private:
  enum class Step : uint8_t { starting, idle, opening, closing, failed };
  void ask(Step step, const WorkerRequest& request, Milliseconds longest);
  void settle(Reply& reply);

  Milliseconds start_;  ///< Time allowed for short steps.
  std::unique_ptr<WorkerProcess> process_;
  Step step_ = Step::starting;
  WorkerRequest asked_;
  std::optional<request::Open> request_;  ///< The last request to open a problem.
  std::optional<Listing> listing_;
};

/// Replaces the spaces of a worker that was limited to some candidates by the whole spaces of a listing. Returns false
/// and changes nothing if the two differ in anything else.
bool complete(OpenAnswer& limited, Listing& listing);

}  // namespace attune
