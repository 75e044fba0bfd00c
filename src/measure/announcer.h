// SPDX-License-Identifier: MIT
#pragma once
#include <string>

#include "core/turn.h"

namespace attune {

/// First of the slots that stand for solvers, by their place in the registry, while their libraries are opened and
/// asked for their spaces.
inline constexpr Slot kLibrarySlots = 0x8000'0000;

/// Receives the slot that is about to be used, before it is used, so that a death or a hang can be blamed on it.
class Announcer {
 public:
  virtual ~Announcer() = default;
  /// Until the next call, everything that happens is attributed to the candidate of `slot`; 0: to none. `limit`: time
  /// allowed for it; 0: no limit of its own. Called on the measuring thread, also before each turn, so it must be
  /// cheap. Throws when the announcement cannot be made; then nothing may be run.
  virtual void announce(Slot slot, Milliseconds limit) = 0;
  /// Nothing that this process measures counts any more, because its device no longer works or a candidate changed what
  /// all are timed with. In a worker it ends the process, while the last slot is still announced.
  virtual void end_worker(const std::string& why) noexcept = 0;
  /// Whether the request that is worked on was given up, so that its next step need not begin. Asked between steps, and
  /// ten times a second in those that take long and are nobody's. False (the default): nobody can, as in a worker,
  /// which is ended instead.
  virtual bool is_stopped() { return false; }
};

}  // namespace attune
