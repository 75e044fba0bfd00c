// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "measure/executor.h"
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

/// An executor that hands everything to another; a test overrides what it changes or counts.
class ForwardingExecutor : public Executor {
 public:
  /// `inner` outlives it.
  explicit ForwardingExecutor(Executor& inner) : inner_(inner) {}

  const DeviceInfo& device() const override { return inner_.device(); }
  void begin(Request request) override { inner_.begin(std::move(request)); }
  int descriptor() const override { return inner_.descriptor(); }
  std::optional<Answer> take() override { return inner_.take(); }
  void close(ProblemId id) override { inner_.close(id); }
  void drop(Slot slot) override { inner_.drop(slot); }
  void prefetch(request::Open open) override { inner_.prefetch(std::move(open)); }
  void abort() override { inner_.abort(); }
  void set_tick(Tick tick) override { inner_.set_tick(std::move(tick)); }
  Workers workers() override { return inner_.workers(); }

 private:
  Executor& inner_;
};

/// Remembers the problems in the order in which they finish.
class SilentObserver final : public TuneObserver {
 public:
  void progress(const Problem&, Phase, size_t) override {}
  void finished(const TuneResult& result) override { order.push_back(result.problem.key()); }
  std::vector<std::string> order;
};

}  // namespace attune
