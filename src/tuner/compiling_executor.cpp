// SPDX-License-Identifier: MIT
#include "tuner/compiling_executor.h"

namespace attune {

CompilingExecutor::CompilingExecutor(Executor& inner, Kernels& kernels) : ForwardingExecutor(inner), kernels_(kernels) {
  if (inner.descriptor() >= 0) poll_set_.watch(inner.descriptor());
  poll_set_.watch(kernels.descriptor());
}

std::optional<Answer> CompilingExecutor::take() {
  kernels_.serve();
  return ForwardingExecutor::take();
}

}  // namespace attune
