// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include "measure/forwarding_executor.h"
#include "process/poll_set.h"
#include "tuner/kernels.h"

namespace attune {

/// An executor whose callers keep compilers going while they wait for it: its descriptor stands for both, and take()
/// also serves the kernels, whose errors it throws.
class CompilingExecutor final : public ForwardingExecutor {
 public:
  /// Both outlive it.
  CompilingExecutor(Executor& inner, Kernels& kernels);

  int descriptor() const override { return poll_set_.descriptor(); }
  std::optional<Answer> take() override;

 private:
  Kernels& kernels_;
  PollSet poll_set_;
};

}  // namespace attune
