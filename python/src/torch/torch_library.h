// SPDX-License-Identifier: MIT
#pragma once
#include <nanobind/nanobind.h>

namespace attune::python {

/// Adds open_library_kernels() and the kernels for PyTorch's dispatcher that attune/_torch_library.py registers with
/// torch.library (docs/adr/0021). They read tensors through PyTorch's stable C interface, so that they need no compiler
/// on the user's machine; of dense host tensors alone.
void add_torch_library(nanobind::module_& module);

}  // namespace attune::python
