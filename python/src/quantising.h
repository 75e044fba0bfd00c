// SPDX-License-Identifier: MIT
#pragma once
#include <nanobind/nanobind.h>

namespace attune::python {

/// Adds the functions of attune/quantise.h over NumPy's arrays, which attune/_quantise.py allocates.
void add_quantising(nanobind::module_& module);

}  // namespace attune::python
