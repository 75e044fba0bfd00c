// SPDX-License-Identifier: MIT
#pragma once
#include <nanobind/nanobind.h>

namespace attune::python {

/// Computes out[..., n] = x[..., k] · w[n, k]ᵀ (+ bias[n]). `bias` and `out` may be None; `stream` as for CallDevice.
/// Returns out, on a GPU once the work is enqueued. Releases the GIL while the kernel runs.
nanobind::object gemm_a16w16(nanobind::handle x, nanobind::handle w, nanobind::handle bias, nanobind::object out,
                             nanobind::handle stream);

}  // namespace attune::python
