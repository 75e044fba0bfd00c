// SPDX-License-Identifier: MIT
#pragma once
#include <nanobind/nanobind.h>

#include <optional>
#include <string>

namespace attune::python {

/// Computes out[..., n] = x_scale · w_scale[n] · Σ x[..., k]·w[n, k] (+ bias[n]) of int8 x and w; the scales are of
/// rows, or one element each. `bias` and `out` may be None; `stream` as for CallDevice. Returns out, on a GPU once the
/// work is enqueued. Releases the GIL while the kernel runs.
nanobind::object gemm_a8w8(nanobind::handle x, nanobind::handle w, nanobind::handle x_scale, nanobind::handle w_scale,
                           nanobind::handle bias, nanobind::object out, const std::optional<std::string>& out_dtype,
                           nanobind::handle stream);

}  // namespace attune::python
