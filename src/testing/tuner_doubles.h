// SPDX-License-Identifier: MIT
#pragma once
#include <string>
#include <vector>

#include "base/clock.h"
#include "measure/forwarding_executor.h"
#include "tuner/tune_observer.h"

namespace attune {

/// A clock that moves by a millisecond at each look, so that budgets run out, and sleeps at once.
class TestClock final : public Clock {
 public:
  double now_s() override { return now_s_ += 1e-3; }
  void sleep_s(double seconds) override { now_s_ += seconds; }

 private:
  double now_s_ = 0;
};

/// A clock that shows what a test sets, and sleeps at once.
class SetClock final : public Clock {
 public:
  double now_s() override { return at_s; }
  void sleep_s(double seconds) override { at_s += seconds; }
  double at_s = 100;
};

/// Remembers the problems in the order in which they finish.
class SilentObserver final : public TuneObserver {
 public:
  void progress(const Problem&, Phase, size_t) override {}
  void finished(const TuneResult& result) override { order.push_back(result.problem.key()); }
  std::vector<std::string> order;
};

}  // namespace attune
