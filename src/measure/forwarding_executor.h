// SPDX-License-Identifier: MIT
#pragma once
#include <optional>
#include <utility>

#include "measure/executor.h"

namespace attune {

/// Forwards all calls to another executor. A subclass overrides the calls that it changes.
class ForwardingExecutor : public Executor {
 public:
  /// `inner` must outlive this.
  explicit ForwardingExecutor(Executor& inner) : inner_(inner) {}

  const DeviceInfo& device() const override { return inner_.device(); }
  void begin(Request request) override { inner_.begin(std::move(request)); }
  int descriptor() const override { return inner_.descriptor(); }
  std::optional<Answer> take() override { return inner_.take(); }
  void close(ProblemId id) override { inner_.close(id); }
  void drop(Slot slot) override { inner_.drop(slot); }
  void prefetch(std::optional<request::Open> open) override { inner_.prefetch(std::move(open)); }
  void abort() override { inner_.abort(); }
  void set_tick(Tick tick) override { inner_.set_tick(std::move(tick)); }
  Workers workers() override { return inner_.workers(); }

 private:
  Executor& inner_;
};

}  // namespace attune
