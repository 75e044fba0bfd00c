// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>

#include "attune/error.h"

namespace attune {

/// During its life, SIGINT, SIGTERM and SIGHUP (unless ignored, as under nohup) ask a run to end. The first signal sets
/// a flag, which also ends a wait for a locked journal; the second ends the program. SIGPIPE is ignored: a run goes on
/// when the reader of its output has ended. Signals and flag belong to the process. Objects may nest, as when a run is
/// part of another: the first installs the handlers and the last removes them.
class InterruptHandler {
 public:
  InterruptHandler();
  ~InterruptHandler();
  InterruptHandler(const InterruptHandler&) = delete;
  InterruptHandler& operator=(const InterruptHandler&) = delete;
};

/// Returns the flag, which stays set.
const std::atomic<bool>& interrupt_flag() noexcept;
inline bool is_interrupted() noexcept { return interrupt_flag(); }
/// Returns the exit status of an interrupted run: 128 + the signal's number.
int interrupt_status() noexcept;

/// Returns call(), or an empty result if it throws an Error after an interrupt, which is then the reason.
template <typename Call>
auto unless_interrupted(const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const Error&) {
    if (!is_interrupted()) throw;
    return {};
  }
}

}  // namespace attune
