// SPDX-License-Identifier: MIT
#include "measure/blocking_calls.h"

#include <poll.h>

#include <utility>

namespace attune {
namespace {

constexpr int kTickMs = 500;  // Half the promised second, which leaves time for work between two ticks.

/// Lets an executor tick while it waits for a fresh worker, until the call returns.
class TickingCall {
 public:
  TickingCall(Executor& executor, const Tick& tick) : executor_(executor) { executor_.set_tick(tick); }
  ~TickingCall() { executor_.set_tick({}); }
  TickingCall(const TickingCall&) = delete;
  TickingCall& operator=(const TickingCall&) = delete;

 private:
  Executor& executor_;
};

/// Waits for the answer to a request that was begun.
class Waiting {
 public:
  Waiting(Executor& executor, const Tick& tick) : executor_(executor), tick_(tick) {}

  void abort() {
    if (!std::exchange(aborted_, true)) executor_.abort();
  }
  std::optional<Answer> look() {
    if (tick_ && tick_()) abort();
    return executor_.take();
  }
  Answer wait() {
    for (;;) {
      if (auto answer = look()) return *std::move(answer);
      pollfd entry{executor_.descriptor(), POLLIN, 0};
      ::poll(&entry, 1, kTickMs);
    }
  }

 private:
  Executor& executor_;
  const Tick& tick_;
  bool aborted_ = false;
};

template <typename Wanted>
Wanted wait_for_answer(Executor& executor, Request request, const Tick& tick,
                       const std::function<void()>& beside = {}) {
  const TickingCall ticking(executor, tick);
  executor.begin(std::move(request));
  Waiting waiting(executor, tick);
  std::optional<Answer> answer;
  if (beside) {
    // take() sends the request to a worker process. An executor without a worker would do the whole request in it.
    if (executor.descriptor() >= 0) answer = waiting.look();
    try {
      beside();
    } catch (...) {
      if (!answer) {
        waiting.abort();
        waiting.wait();
      }
      throw;
    }
  }
  if (!answer) answer = waiting.wait();
  return std::get<Wanted>(*std::move(answer));
}

}  // namespace

OpenAnswer open(Executor& executor, request::Open request, const Tick& tick) {
  return wait_for_answer<OpenAnswer>(executor, std::move(request), tick);
}
AdmitAnswer admit(Executor& executor, request::Admit request, const Tick& tick, const std::function<void()>& beside) {
  return wait_for_answer<AdmitAnswer>(executor, std::move(request), tick, beside);
}
SampleAnswer sample(Executor& executor, request::Sample request, const Tick& tick) {
  return wait_for_answer<SampleAnswer>(executor, std::move(request), tick);
}
RecycleAnswer recycle(Executor& executor, const Tick& tick) {
  return wait_for_answer<RecycleAnswer>(executor, request::Recycle{}, tick);
}

}  // namespace attune
