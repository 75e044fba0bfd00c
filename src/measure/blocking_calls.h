// SPDX-License-Identifier: MIT
#pragma once
#include <functional>

#include "measure/executor.h"

namespace attune {

/// Do one request on an executor and wait for its answer. Requires: none is outstanding. `tick` is called before each
/// look for the answer, and then at least once a second while a worker does the request or a fresh one starts for it;
/// an aborted request is answered as cancelled. Throw what Executor::begin() and take() throw.
///
/// `beside` is work of the caller that needs no answer: called once, when the request was given to the worker and
/// before the answer is waited for; before the request is done, if the executor does all in this process. It must end
/// within a second, because nobody ticks meanwhile. What it throws is thrown on, after the request was aborted.
OpenAnswer open(Executor& executor, request::Open request, const Tick& tick = {});
AdmitAnswer admit(Executor& executor, request::Admit request, const Tick& tick = {},
                  const std::function<void()>& beside = {});
SampleAnswer sample(Executor& executor, request::Sample request, const Tick& tick = {});
RecycleAnswer recycle(Executor& executor, const Tick& tick = {});

}  // namespace attune
