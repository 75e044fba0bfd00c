// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include "measure/forwarding_executor.h"
#include "process/poll_set.h"
#include "tuner/kernels.h"

namespace attune {

/// Keeps compilers going while callers wait for an executor. Its descriptor stands for both. take() also serves the
/// kernels and throws their errors.
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
