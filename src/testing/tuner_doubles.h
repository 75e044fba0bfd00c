// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "measure/forwarding_executor.h"
#include "testing/pipe.h"
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

/// Does a request at the second look for its answer, as if a worker took a moment.
class WithholdingExecutor : public ForwardingExecutor {
 public:
  explicit WithholdingExecutor(Executor& inner) : ForwardingExecutor(inner) { always_.put(); }

  int descriptor() const override { return always_.descriptor(); }
  void begin(Request request) override {
    is_admission_ = std::holds_alternative<request::Admit>(request);
    ForwardingExecutor::begin(std::move(request));
    is_outstanding_ = is_withheld_ = true;
  }
  std::optional<Answer> take() override {
    if (std::exchange(is_withheld_, false)) return std::nullopt;
    auto answer = ForwardingExecutor::take();
    if (answer) is_outstanding_ = false;
    return answer;
  }
  bool is_outstanding() const { return is_outstanding_; }
  bool is_admitting() const { return is_outstanding_ && is_admission_; }

 private:
  Pipe always_;  ///< Readable.
  bool is_admission_ = false, is_outstanding_ = false, is_withheld_ = false;
};

/// Remembers the problems in the order in which they finish.
class SilentObserver final : public TuneObserver {
 public:
  void progress(const Problem&, Phase, size_t) override {}
  void finished(const TuneResult& result) override { order.push_back(result.problem.key()); }
  std::vector<std::string> order;
};

}  // namespace attune
