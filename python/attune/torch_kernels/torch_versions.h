// SPDX-License-Identifier: MIT
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/util/Exception.h>
#include <torch/version.h>

#include <string>

// What PyTorch's versions name differently.
#define ATTUNE_TORCH_AT_LEAST(major, minor) \
  (TORCH_VERSION_MAJOR > (major) || (TORCH_VERSION_MAJOR == (major) && TORCH_VERSION_MINOR >= (minor)))

#if ATTUNE_TORCH_AT_LEAST(2, 6)
#include <optional>
#else
#include <c10/util/Optional.h>
#endif

namespace attune::python {

#if ATTUNE_TORCH_AT_LEAST(2, 6)
using OptionalTensor = std::optional<at::Tensor>;
#else
using OptionalTensor = c10::optional<at::Tensor>;
#endif

/// Drops the warnings of this thread while it lives: PyTorch warns of every kernel that is replaced, which is what was
/// asked for.
class Quiet {
 private:
  class Handler : public c10::WarningHandler {
   public:
#if ATTUNE_TORCH_AT_LEAST(2, 0)
    void process(const c10::Warning&) override {}
#else
    void process(const c10::SourceLocation&, const std::string&, bool) override {}
#endif
  };
  Handler handler_;
#if ATTUNE_TORCH_AT_LEAST(2, 0)
  c10::WarningUtils::WarningHandlerGuard guard_{&handler_};
#else
  c10::Warning::WarningHandlerGuard guard_{&handler_};
#endif
};

}  // namespace attune::python
