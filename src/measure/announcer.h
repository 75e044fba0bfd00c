// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "core/turn.h"

namespace attune {

/// First of the slots that stand for solvers. Slot kLibrarySlots + i is announced while the library of the registry's
/// i-th solver is opened and asked for its spaces.
inline constexpr Slot kLibrarySlots = 0x8000'0000;

/// Receives the slot that is about to be used, before it is used, so that a death or a hang can be blamed on it.
class Announcer {
 public:
  virtual ~Announcer() = default;
  /// Attributes everything that happens until the next call to the candidate of `slot`; 0: to none. `limit`: time
  /// allowed for it; 0: no limit of its own. Called on the measuring thread, also before each turn, so it must be
  /// cheap. Throws when the announcement cannot be made; then nothing may be run.
  virtual void announce(Slot slot, Milliseconds limit) = 0;
  /// Declares all measurements of this process invalid: its device no longer works, or a candidate changed memory that
  /// all are timed with. In a worker it ends the process, while the last slot is still announced.
  virtual void end_worker(const std::string& why) noexcept = 0;
  /// Whether the current request was given up, so that its next step need not begin. Asked between steps, and ten times
  /// a second in long steps that belong to no candidate. False (the default) where a request cannot be given up: a
  /// worker is ended instead.
  virtual bool is_stopped() { return false; }
};

}  // namespace attune
