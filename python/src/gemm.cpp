// SPDX-License-Identifier: MIT
#include "gemm.h"

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
#include "packed_weights.h"

namespace nb = nanobind;

namespace attune::python {
namespace {

std::string text(DType dtype) { return std::string(name(dtype)); }

void check_inputs(const Operand& x, const Operand& w) {
  if (x.dtype() != w.dtype())
    fail_type("x and w must be of one type, got " + text(x.dtype()) + " and " + text(w.dtype()));
  if (w.ndim() != 2) fail_value("w must have the shape (n, k), got " + w.shape_text());
  if (x.ndim() < 1) fail_value("x must have the shape (..., k), got ()");
  if (x.dim(x.ndim() - 1) != w.dim(1))
    fail_value("the last axes of x and w must be equal, the shapes are " + x.shape_text() + " and " + w.shape_text());
  if (w.elements() == 0) fail_value("w must have at least one row and one column, its shape is " + w.shape_text());
}

void check_bias(const Operand& bias, DType dtype, int64_t n) {
  if (bias.dtype() != dtype)
    fail_type("bias must be of the type of x and w, " + text(dtype) + ", got " + text(bias.dtype()));
  if (bias.ndim() != 1 || bias.dim(0) != n)
    fail_value("bias must have the shape (" + std::to_string(n) + ",), got " + bias.shape_text());
}

/// `w` may be null: packed weights are not in the caller's memory.
void check_out(const Operand& out, const Operand& x, int64_t n, const Operand* w, const Operand* bias) {
  bool fits = out.ndim() == x.ndim() && out.dim(out.ndim() - 1) == n;
  for (int axis = 0; fits && axis + 1 < x.ndim(); ++axis) fits = out.dim(axis) == x.dim(axis);
  if (!fits)
    fail_value("out must have the shape of x with " + std::to_string(n) + " as last axis, got " + out.shape_text() +
               " for x " + x.shape_text());
  for (const Operand* input : {&x, w, bias}) {
    if (input != nullptr && out.overlaps(*input)) fail_value("out must not overlap x, w or bias");
  }
}

/// `operands`: x, w, bias or null, out.
void run(const GemmKey& key, std::array<void*, 4> operands, const CallPlace& place) {
  Dispatcher& its = dispatcher(place);
  ShapeCapture::note(key, limit_of_threads(place, its));
  size_t num_operands = 4;
  if (operands[2] == nullptr) {
    operands[2] = operands[3];
    num_operands = 3;
  }
  const GilRelease others_run;
  its.run(key, {operands.data(), num_operands}, place.stream);
}

nb::object gemm_packed(nb::handle x_array, const PackedWeights& w, nb::handle bias_array, nb::object out_array) {
  const GemmKey& packed = w.key();
  CallDevice host;
  const Operand x("x", x_array, host);
  if (x.dtype() != packed.in)
    fail_type("x and w must be of one type, got " + text(x.dtype()) + " and " + text(packed.in));
  if (x.ndim() < 1 || x.dim(x.ndim() - 1) != packed.k)
    fail_value("the last axis of x must be that of w, " + std::to_string(packed.k) + ", the shape is " +
               x.shape_text());
  std::optional<Operand> bias;
  if (!bias_array.is_none()) bias.emplace("bias", bias_array, host);
  const bool wants_bias = (packed.flags & GemmKey::bias) != 0;
  if (wants_bias != bias.has_value())
    fail_value(wants_bias ? "these weights were packed for calls with a bias, give one"
                          : "these weights were packed for calls without a bias; pack them with bias=True");
  if (bias) check_bias(*bias, packed.in, packed.n);
  const bool is_given = !out_array.is_none();
  if (!is_given) out_array = x.make_out(x_array, packed.n, packed.out);
  const Operand out("out", out_array, host, true);
  if (is_given) check_out(out, x, packed.n, nullptr, bias ? &*bias : nullptr);
  if (out.dtype() != packed.out)
    fail_type("these weights were packed for results of type " + text(packed.out) + ", out has " + text(out.dtype()));
  if (x.elements() == 0) return out_array;
  GemmKey key = packed;
  key.m = x.elements() / packed.k;
  Dispatcher& its = host_dispatcher();
  ShapeCapture::note(key, its.threads());
  std::array<void*, 3> operands = {x.data(), bias ? bias->data() : out.data(), out.data()};
  const GilRelease others_run;
  its.run(key, w.weights(), {operands.data(), bias ? size_t{3} : size_t{2}});
  return out_array;
}

}  // namespace

nb::object gemm_a16w16(nb::handle x_array, nb::handle w_array, nb::handle bias_array, nb::object out_array,
                       nb::handle stream) {
  if (const PackedWeights* packed = PackedWeights::of(w_array))
    return gemm_packed(x_array, *packed, bias_array, std::move(out_array));
  CallDevice call(stream);
  const Operand x("x", x_array, call), w("w", w_array, call);
  check_inputs(x, w);
  std::optional<Operand> bias;
  if (!bias_array.is_none()) {
    bias.emplace("bias", bias_array, call);
    check_bias(*bias, w.dtype(), w.dim(0));
  }
  const bool is_given = !out_array.is_none();
  if (!is_given) out_array = x.make_out(x_array, w.dim(0), x.dtype());
  const Operand out("out", out_array, call, true);
  if (is_given) check_out(out, x, w.dim(0), &w, bias ? &*bias : nullptr);
  if (x.elements() == 0) return out_array;  // Without rows there is nothing to write.

  const GemmKey key{.op = OpId::gemm_a16w16,
                    .m = x.elements() / w.dim(1),
                    .n = w.dim(0),
                    .k = w.dim(1),
                    .in = x.dtype(),
                    .out = out.dtype(),
                    .flags = static_cast<uint8_t>(bias ? GemmKey::bias : 0)};
  run(key, {x.data(), w.data(), bias ? bias->data() : nullptr, out.data()}, call.place());
  return out_array;
}

}  // namespace attune::python
