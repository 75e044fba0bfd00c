// SPDX-License-Identifier: MIT
#pragma once
#include <functional>

#include "measure/executor.h"

namespace attune {

/// Do one request on an executor and wait for its answer. Requires: no request is outstanding. `tick` is called before
/// each look for the answer, and then at least once a second while a worker does the request or a fresh one starts for
/// it. An aborted request is answered as cancelled. Throw like Executor::begin() and take().
///
/// `beside` is work of the caller that runs in parallel with the worker. It is called once, after the request was given
/// to the worker and before the wait for the answer. An executor without a worker calls it before it does the request.
/// It must end within a second, because `tick` is not called during it. If it throws, the request is aborted and the
/// exception passed on.
OpenAnswer open(Executor& executor, request::Open request, const Tick& tick = {});
AdmitAnswer admit(Executor& executor, request::Admit request, const Tick& tick = {},
                  const std::function<void()>& beside = {});
SampleAnswer sample(Executor& executor, request::Sample request, const Tick& tick = {});
RecycleAnswer recycle(Executor& executor, const Tick& tick = {});

}  // namespace attune
