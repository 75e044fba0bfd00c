// SPDX-License-Identifier: MIT
#pragma once
#include <attune/dtype.h>
#include <nanobind/nanobind.h>

#include <optional>
#include <span>
#include <string>

namespace attune::python {

/// An op of quantised products, as its function in Python takes arrays.
struct QuantisedOp {
  const char* name;
  std::span<const DType> types;        ///< Of x and w.
  std::optional<DType> element_bytes;  ///< What arrays of uint8 hold as x and w; nothing: they are refused.
  std::optional<DType> scale_bytes;    ///< The same of the scales.
};
extern const QuantisedOp kGemmA8w8, kGemmA8w8Blockscale, kGemmA4w4Blockscale;

/// Computes out[..., n] = Σ x[..., k]·w[n, k] with the scales that the op has for them (+ bias[n]). `bias` and `out`
/// may be None; `stream` as for CallDevice. Returns out, on a GPU once the work is enqueued. Releases the GIL while the
/// kernel runs.
nanobind::object quantised_product(const QuantisedOp& op, nanobind::handle x, nanobind::handle w,
                                   nanobind::handle x_scale, nanobind::handle w_scale, nanobind::handle bias,
                                   nanobind::object out, const std::optional<std::string>& out_dtype,
                                   nanobind::handle stream);

}  // namespace attune::python
