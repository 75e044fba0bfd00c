// SPDX-License-Identifier: MIT
#pragma once
#include <utility>
#include <vector>

#include "measure/executor.h"
#include "process/poll_set.h"
#include "tuner/kernels.h"

namespace attune {

/// An executor whose callers keep compilers going while they wait for it: its descriptor stands for both, and take()
/// also serves the kernels, whose errors it throws.
class CompilingExecutor final : public Executor {
 public:
  /// Both outlive it.
  CompilingExecutor(Executor& inner, Kernels& kernels);

  const DeviceInfo& device() const override { return inner_.device(); }
  void begin(Request request) override { inner_.begin(std::move(request)); }
  int descriptor() const override { return poll_set_.descriptor(); }
  std::optional<Answer> take() override;
  void close(ProblemId id) override { inner_.close(id); }
  void drop(Slot slot) override { inner_.drop(slot); }
  void prefetch(request::Open open) override { inner_.prefetch(std::move(open)); }
  void abort() override { inner_.abort(); }
  void set_tick(Tick tick) override { inner_.set_tick(std::move(tick)); }
  Workers workers() override { return inner_.workers(); }

 private:
  Executor& inner_;
  Kernels& kernels_;
  PollSet poll_set_;
};

}  // namespace attune
