// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>

namespace attune {

/// Lets SIGINT, SIGTERM and SIGHUP (but for one that the process ignores, as nohup has it) ask a run to end, for its
/// life: the first sets a flag, which also ends a wait for a locked journal; a second one ends the program. SIGPIPE is
/// ignored: a run goes on when the reader of its output has ended. The signals and the flag belong to the process: of
/// objects that live at a time, as of a run that is a part of another, the first and the last count.
class InterruptHandler {
 public:
  InterruptHandler();
  ~InterruptHandler();
  InterruptHandler(const InterruptHandler&) = delete;
  InterruptHandler& operator=(const InterruptHandler&) = delete;
};

/// The flag, which stays set.
const std::atomic<bool>& interrupt_flag() noexcept;
inline bool is_interrupted() noexcept { return interrupt_flag(); }
/// Returns the exit status of an interrupted run: 128 + the signal's number.
int interrupt_status() noexcept;

}  // namespace attune
