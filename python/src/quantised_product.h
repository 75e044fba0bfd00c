// SPDX-License-Identifier: MIT
#pragma once
#include <nanobind/nanobind.h>

namespace attune::python {

/// Adds a function for each op of quantised products: out[..., n] = Σ x[..., k]·w[n, k] with the scales that the op has
/// for them (+ bias[n]). `bias` and `out` may be None; `stream` as for CallDevice. A function returns out, on a GPU
/// once the work is enqueued. It releases the GIL while the kernel runs.
void add_quantised_products(nanobind::module_& module);

}  // namespace attune::python
