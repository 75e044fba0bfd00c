// SPDX-License-Identifier: MIT
#include "measure/blocking_calls.h"

#include <poll.h>

#include <utility>

namespace attune {
namespace {

constexpr int kTickMs = 500;  // A whole second would leave none for what comes between two ticks.

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

template <typename Wanted>
Wanted wait_for_answer(Executor& executor, Request request, const Tick& tick) {
  const TickingCall ticking(executor, tick);
  executor.begin(std::move(request));
  for (bool aborted = false;;) {
    if (tick && tick() && !std::exchange(aborted, true)) executor.abort();
    if (auto answer = executor.take()) return std::get<Wanted>(*std::move(answer));
    pollfd entry{executor.descriptor(), POLLIN, 0};
    ::poll(&entry, 1, kTickMs);
  }
}

}  // namespace

OpenAnswer open(Executor& executor, request::Open request, const Tick& tick) {
  return wait_for_answer<OpenAnswer>(executor, std::move(request), tick);
}
AdmitAnswer admit(Executor& executor, request::Admit request, const Tick& tick) {
  return wait_for_answer<AdmitAnswer>(executor, std::move(request), tick);
}
SampleAnswer sample(Executor& executor, request::Sample request, const Tick& tick) {
  return wait_for_answer<SampleAnswer>(executor, std::move(request), tick);
}
RecycleAnswer recycle(Executor& executor, const Tick& tick) {
  return wait_for_answer<RecycleAnswer>(executor, request::Recycle{}, tick);
}

}  // namespace attune
