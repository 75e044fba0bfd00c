// SPDX-License-Identifier: MIT
#pragma once
#include "core/turn.h"

namespace attune {

/// Slots from here on stand for solvers, by their place in the registry, while their libraries are opened and asked
/// what they offer.
inline constexpr Slot kLibrarySlots = 0x8000'0000;

/// Is told what is about to be touched, before it is, so that a death or a hang can be blamed on it.
class Announcer {
 public:
  virtual ~Announcer() = default;
  /// From now until the next call whatever happens is the doing of `slot`'s candidate; 0: of none. `limit`: how long
  /// that may take; 0: no limit of its own. Called on the measuring thread, before each turn too: cheap. Throws when it
  /// cannot be told: then nothing may be touched.
  virtual void announce(Slot slot, Milliseconds limit) = 0;
};

}  // namespace attune
