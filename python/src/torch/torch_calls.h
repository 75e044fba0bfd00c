// SPDX-License-Identifier: MIT
#pragma once
#include <nanobind/nanobind.h>

namespace attune::python {

/// Adds what attune.torch calls: examine_linear() and run_product() of its Python way, the counts, and the address of
/// the functions for the kernels at PyTorch's dispatcher.
void add_torch_calls(nanobind::module_& module);

}  // namespace attune::python
