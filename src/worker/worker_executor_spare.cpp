// SPDX-License-Identifier: MIT
// The part of WorkerExecutor that keeps a worker standing by.
#include <utility>
#include <variant>

#include "base/error.h"
#include "worker/worker_executor.h"

namespace attune {
namespace {

constexpr uint32_t kMaxFailedSpares = 2;  // Then there is no room for one, or a library cannot be opened.

}  // namespace

/// Starts a worker that stands by, unless there is one. The start is put off while an executor samples on a shared
/// device, and while the memory of the last worker may be needed.
void WorkerExecutor::start_spare() {
  if (!options_.spare || is_resting_ || spare_ || num_failed_spares_ >= kMaxFailedSpares) return;
  if (!has_room_for_two()) return;
  wants_spare_ = needs_memory_of_ending() || (user_ && !user_->may_start_worker());
  if (wants_spare_) return;
  try {
    spare_ = std::make_unique<SpareWorker>(options_, hello());
    poll_set_.watch(spare_->descriptor());
  } catch (const Error&) {
    ++num_failed_spares_;
    if (user_) user_->worker_started();
  }
}

void WorkerExecutor::end_spare() {
  if (spare_) poll_set_.forget(spare_->descriptor());
  spare_.reset();
  wants_spare_ = false;
  if (user_) user_->worker_started();
}

/// Takes the answer of the spare worker, and the end of the last worker.
void WorkerExecutor::look_at_others() {
  look_at_end();
  if (!spare_) return;
  spare_->look();
  if (user_ && !spare_->is_starting()) user_->worker_started();
  if (auto listed = spare_->take_listing()) listing_ = std::move(listed);
  if (!spare_->has_failed()) return;
  ++num_failed_spares_;
  end_spare();
}

/// Takes the answer of the spare worker, and gives it something to do.
void WorkerExecutor::serve_spare() {
  look_at_others();
  if (wants_spare_) start_spare();
  if (!spare_ || spare_->is_busy()) return;
  if (expected_) {
    const WorkerRequest request = *std::exchange(expected_, std::nullopt);
    spare_->open(std::get<request::Open>(request), longest_step(request));
  } else if (!spare_->has_libraries() && !problems_.all().empty()) {
    // Their libraries alone, for the worker that will have these problems open.
    request::Open again = problems_.all().begin()->second.opened;
    again.candidates.emplace();
    spare_->open(again, longest_step(again));
  }
}

/// Waits until the spare worker is idle, which is sooner than a new worker would be up. False: no worker stands by.
bool WorkerExecutor::take_over_from_spare() {
  for (look_at_others(); spare_ && spare_->is_busy(); look_at_others()) {
    throw_if_stopped();
    poll_set_.wait(kLook);
  }
  if (!spare_) return false;
  poll_set_.forget(spare_->descriptor());
  set_worker(spare_->take_over());
  spare_.reset();
  return true;
}

/// Whether a request has to wait: samples for a device that is being opened, a problem for its list.
bool WorkerExecutor::waits_for_spare(const WorkerRequest& request) const {
  if (!spare_) return false;
  if (std::holds_alternative<request::Sample>(request)) return spare_->is_starting();
  const auto* open = std::get_if<request::Open>(&request);
  return open != nullptr && !open->candidates && spare_->is_listing(open->problem);
}

void WorkerExecutor::prefetch(std::optional<request::Open> open) {
  is_resting_ = !open;
  is_told_ahead_ = open.has_value();
  if (!open) {
    expected_.reset();
    return end_spare();
  }
  const bool is_known = listing_ && listing_->problem == open->problem;
  if (!options_.spare || is_known || (spare_ && spare_->is_listing(open->problem))) return;
  open->candidates.reset();
  expected_ = std::move(open);
  serve_spare();
}

}  // namespace attune
