// SPDX-License-Identifier: MIT
#pragma once
#include <nanobind/nanobind.h>

#include <cstdint>

namespace attune::python {

/// Computes out[..., n] = x[..., k] · w[n, k]ᵀ (+ bias[n]). `bias` and `out` may be None. Returns out. Releases the GIL
/// while the kernel runs.
nanobind::object gemm_a16w16(nanobind::handle x, nanobind::handle w, nanobind::handle bias, nanobind::object out);

/// Like gemm_a16w16(), but for a caller that has checked everything: takes addresses (bias 0: none), a number of DType
/// and the thread limit, which it sets.
void run_addresses(uintptr_t x, uintptr_t w, uintptr_t bias, uintptr_t out, int64_t m, int64_t n, int64_t k, int dtype,
                   int threads);

}  // namespace attune::python
