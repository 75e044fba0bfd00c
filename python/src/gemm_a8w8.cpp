// SPDX-License-Identifier: MIT
#include "gemm_a8w8.h"

#include <attune/dispatcher.h>

#include <array>
#include <optional>
#include <string>

#include "call_device.h"
#include "capturing.h"
#include "dispatchers.h"
#include "errors.h"
#include "gil.h"
#include "operand.h"

namespace nb = nanobind;

namespace attune::python {
namespace {

std::string text(DType dtype) { return std::string(name(dtype)); }

void check_int8(const char* role, const Operand& operand) {
  if (operand.dtype() != DType::int8) fail_type(std::string(role) + " must be int8, got " + text(operand.dtype()));
}

void check_shapes(const Operand& x, const Operand& w) {
  if (w.ndim() != 2 || w.elements() == 0)
    fail_value("w must have the shape (n, k) with at least one row and one column, got " + w.shape_text());
  if (x.ndim() < 1 || x.dim(x.ndim() - 1) != w.dim(1))
    fail_value("the last axes of x and w must be equal, the shapes are " + x.shape_text() + " and " + w.shape_text());
}

void check_type(const char* role, const Operand& operand, DType wanted) {
  if (operand.dtype() != wanted)
    fail_type(std::string(role) + " must be " + text(wanted) + ", got " + text(operand.dtype()));
}

/// The scales are of rows (0) or of the whole matrices (1): the number of the attribute `scale`.
int64_t kind_of_scales(const Operand& x_scale, const Operand& w_scale, int64_t m, int64_t n) {
  check_type("x_scale", x_scale, DType::fp32);
  check_type("w_scale", w_scale, DType::fp32);
  if (x_scale.elements() == m && w_scale.elements() == n) return 0;
  if (x_scale.elements() == 1 && w_scale.elements() == 1) return 1;
  fail_value("x_scale and w_scale must have one element for each row of x and of w, " + std::to_string(m) + " and " +
             std::to_string(n) + ", or one element each; their shapes are " + x_scale.shape_text() + " and " +
             w_scale.shape_text());
}

void check_out(const Operand& out, const Operand& x, int64_t n) {
  bool fits = out.ndim() == x.ndim() && out.dim(out.ndim() - 1) == n;
  for (int axis = 0; fits && axis + 1 < x.ndim(); ++axis) fits = out.dim(axis) == x.dim(axis);
  if (!fits)
    fail_value("out must have the shape of x with " + std::to_string(n) + " as last axis, got " + out.shape_text() +
               " for x " + x.shape_text());
}

/// The type of the result: of `out`, else that of the argument, else bf16.
DType out_type(const std::optional<std::string>& asked, const std::optional<Operand>& out) {
  std::optional<DType> type;
  if (asked) {
    type = parse_dtype(*asked);
    if (type != DType::bf16 && type != DType::fp16)
      fail_value("out_dtype must be 'bf16' or 'fp16', got '" + *asked + "'");
  }
  if (!out) return type.value_or(DType::bf16);
  if (out->dtype() != DType::bf16 && out->dtype() != DType::fp16)
    fail_type("out must be bf16 or fp16, got " + text(out->dtype()));
  if (type && *type != out->dtype())
    fail_type("out is " + text(out->dtype()) + ", but out_dtype is " + text(*type) + "; omit out_dtype");
  return out->dtype();
}

}  // namespace

nb::object gemm_a8w8(nb::handle x_array, nb::handle w_array, nb::handle x_scale_array, nb::handle w_scale_array,
                     nb::handle bias_array, nb::object out_array, const std::optional<std::string>& out_dtype,
                     nb::handle stream) {
  CallDevice call(stream);
  const Operand x("x", x_array, call, false, ElementTypes::all), w("w", w_array, call, false, ElementTypes::all);
  check_int8("x", x);
  check_int8("w", w);
  check_shapes(x, w);
  const int64_t n = w.dim(0), k = w.dim(1), m = x.elements() / k;
  const Operand x_scale("x_scale", x_scale_array, call), w_scale("w_scale", w_scale_array, call);
  const int64_t scale = kind_of_scales(x_scale, w_scale, m, n);
  std::optional<Operand> given, bias;
  if (!out_array.is_none()) given.emplace("out", out_array, call, true);
  const DType type = out_type(out_dtype, given);
  if (given) check_out(*given, x, n);
  if (!bias_array.is_none()) {
    bias.emplace("bias", bias_array, call);
    check_type("bias", *bias, type);
    if (bias->ndim() != 1 || bias->dim(0) != n)
      fail_value("bias must have the shape (" + std::to_string(n) + ",), got " + bias->shape_text());
  }
  const auto is_written = [&](const Operand& input) { return given && given->overlaps(input); };
  if (is_written(x) || is_written(w) || is_written(x_scale) || is_written(w_scale) || (bias && is_written(*bias)))
    fail_value("out must not overlap the other arrays");
  if (!given) {
    out_array = x.make_out(x_array, n, type);
    given.emplace("out", out_array, call, true);
  }
  if (x.elements() == 0) return out_array;  // Without rows there is nothing to write.

  const Key key(OpId::gemm_a8w8, {m, n, k, static_cast<int64_t>(DType::int8), static_cast<int64_t>(type),
                                  bias ? int64_t{1} : int64_t{0}, scale});
  std::array<void*, 6> operands = {x.data(), w.data(), x_scale.data(), w_scale.data(), given->data(), given->data()};
  if (bias) operands[4] = bias->data();
  const CallPlace& place = call.place();
  Dispatcher& its = dispatcher(place);
  ShapeCapture::note(key, limit_of_threads(place, its));
  const GilRelease others_run;
  its.run(key, {operands.data(), bias ? size_t{6} : size_t{5}}, place.stream);
  return out_array;
}

}  // namespace attune::python
