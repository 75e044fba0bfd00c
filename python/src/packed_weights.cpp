// SPDX-License-Identifier: MIT
#include "packed_weights.h"

#include <attune/dtype.h>
#include <nanobind/stl/string.h>

#include "dispatchers.h"
#include "errors.h"
#include "gil.h"
#include "operand.h"

namespace nb = nanobind;

namespace attune::python {
namespace {

DType out_dtype_of(nb::handle name, DType default_value) {
  if (name.is_none()) return default_value;
  std::string text;
  if (!nb::try_cast(name, text)) fail_type("out_dtype must be 'fp32', 'fp16' or 'bf16'");
  const auto dtype = parse_dtype(text);
  if (!dtype) fail_value("out_dtype must be 'fp32', 'fp16' or 'bf16', got '" + text + "'");
  return *dtype;
}

}  // namespace

const PackedWeights* PackedWeights::of(nb::handle object) {
  static const nb::handle type = nb::type<PackedWeights>();
  return object.type().is(type) ? nb::inst_ptr<PackedWeights>(object) : nullptr;
}

PackedWeights pack_weights(nb::handle w_array, bool bias, nb::handle out_dtype, bool per_shape, uint64_t max_bytes) {
  CallDevice host;
  const Operand w("w", w_array, host);
  if (w.ndim() != 2) fail_value("w must have the shape (n, k), got " + w.shape_text());
  if (w.elements() == 0) fail_value("w must have at least one row and one column, its shape is " + w.shape_text());
  const GemmKey key{.op = OpId::gemm_a16w16,
                    .n = w.dim(0),
                    .k = w.dim(1),
                    .in = w.dtype(),
                    .out = out_dtype_of(out_dtype, w.dtype()),
                    .flags = static_cast<uint8_t>(GemmKey::bpreshuffle | (bias ? GemmKey::bias : 0))};
  const PackOptions options{per_shape ? Packing::per_shape : Packing::one_layout, max_bytes};
  const GilRelease others_run;
  return {key, host_dispatcher().pack_weights(key, w.data(), options)};
}

}  // namespace attune::python
