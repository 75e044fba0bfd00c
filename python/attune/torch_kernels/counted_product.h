// SPDX-License-Identifier: MIT
#pragma once
#include "product_interface.h"

namespace attune::python {

/// Attune's functions, from the first registration of kernels on.
inline const ProductFunctions* functions = nullptr;

/// One of PyTorch's kernels, of whatever arguments, as a kernel that counts a call before it runs: an operator of
/// products that tables have no family for.
template <auto kernel>
struct Counted;

template <typename Result, typename... Arguments, Result (*kernel)(Arguments...)>
struct Counted<kernel> {
  static Result call(Arguments... arguments) {
    functions->count(Reason::no_family);
    return kernel(static_cast<Arguments&&>(arguments)...);
  }
};

}  // namespace attune::python
