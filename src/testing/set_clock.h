// SPDX-License-Identifier: MIT
#pragma once
#include "base/clock.h"

namespace attune {

/// A clock that shows what a test sets, and sleeps at once.
class SetClock final : public Clock {
 public:
  double now_s() override { return at_s; }
  void sleep_s(double seconds) override { at_s += seconds; }
  double at_s = 100;
};

}  // namespace attune
