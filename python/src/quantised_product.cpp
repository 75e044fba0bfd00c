// SPDX-License-Identifier: MIT
#include "quantised_product.h"

#include <attune/dispatcher.h>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <array>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "call_device.h"
#include "capturing.h"
#include "dispatchers.h"
#include "errors.h"
#include "gil.h"
#include "operand.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace attune::python {

namespace {

constexpr std::array kOfA8w8 = {DType::int8, DType::e4m3fn, DType::e4m3fnuz};
constexpr std::array kOfBlockscale = {DType::e4m3fn, DType::e4m3fnuz};
constexpr std::array kOfA4w4 = {DType::e2m1};

/// An op of quantised products, as its function in Python takes arrays.
struct QuantisedOp {
  const char* name;
  std::span<const DType> types;        ///< Of x and w.
  std::optional<DType> element_bytes;  ///< What arrays of uint8 hold as x and w; nothing: they are refused.
  std::optional<DType> scale_bytes;    ///< The same of the scales.
  bool scales_rows;                    ///< Then it takes one scale of each matrix, too, and a bias.
  const char* doc;
};

constexpr QuantisedOp kOps[] = {
    {"gemm_a8w8",
     kOfA8w8,
     {},
     {},
     true,
     R"(out[..., n] = x_scale[...] * w_scale[n] * sum over k of x[..., k] * w[n, k], plus bias[n].

x        (..., k)  int8, or fp8: e4m3fn or e4m3fnuz of ml_dtypes or PyTorch
w        (n, k)    of the type of x
x_scale  fp32, an element for each row of x, or one; w_scale: for each row of w, or one. Both of rows or both one
bias     (n,)      of the type of the result; None: none
out      (..., n)  bf16 or fp16, written in place, must not overlap the others; None: a new array of the kind of x

out_dtype  'bf16' or 'fp16', the type of a new array; None: bf16
stream     as for gemm_a16w16

Arrays, memory and exceptions as for gemm_a16w16.)"},
    {"gemm_a8w8_blockscale",
     kOfBlockscale,
     {},
     {},
     false,
     R"(out[..., n] = sum over k of x[..., k] * w[n, k], each with the scale of its block.

x        (..., k)  fp8: e4m3fn or e4m3fnuz of ml_dtypes or PyTorch
w        (n, k)    of the type of x
x_scale  (..., ceil(k / 128))          fp32, of 128 elements of a row
w_scale  (ceil(n / 128), ceil(k / 128))  fp32, of 128 rows by 128 elements
out      (..., n)  as for gemm_a8w8, and so are out_dtype, stream, arrays, memory and exceptions)"},
    {"gemm_a4w4_blockscale", kOfA4w4, DType::e2m1, DType::e8m0, false,
     R"(out[..., n] = sum over k of x[..., k] * w[n, k] of MXFP4: a scale for 32 elements of a row.

x        (..., k / 2)  uint8 or PyTorch's float4_e2m1fn_x2: two elements of e2m1 a byte, the first in the lower half
w        (n, k / 2)    the same
x_scale  (..., ceil(k / 32))  uint8 or float8_e8m0fnu of ml_dtypes or PyTorch; w_scale (n, ceil(k / 32))
out      (..., n)  as for gemm_a8w8, and so are out_dtype, stream, arrays, memory and exceptions

A row of an odd number of elements ends with a zero in the upper half of its last byte.)"}};

std::string text(DType dtype) { return std::string(name(dtype)); }

void check_element_type(const QuantisedOp& op, const char* role, const Operand& operand) {
  std::string wanted;
  for (const DType type : op.types) {
    if (operand.dtype() == type) return;
    wanted += (wanted.empty() ? "" : type == op.types.back() ? " or " : ", ") + text(type);
  }
  fail_type(std::string(role) + " must be " + wanted + ", got " + text(operand.dtype()));
}

void check_type(const char* role, const Operand& operand, DType wanted) {
  if (operand.dtype() != wanted)
    fail_type(std::string(role) + " must be " + text(wanted) + ", got " + text(operand.dtype()));
}

void check_shapes(const Operand& x, const Operand& w) {
  if (w.ndim() != 2 || w.elements() == 0)
    fail_value("w must have the shape (n, k) with at least one row and one column, got " + w.shape_text());
  if (x.ndim() < 1 || x.dim(x.ndim() - 1) != w.dim(1))
    fail_value("the last axes of x and w must be equal, the shapes are " + x.shape_text() + " and " + w.shape_text());
}

void check_out(const Operand& out, const Operand& x, int64_t n) {
  bool fits = out.ndim() == x.ndim() && out.dim(out.ndim() - 1) == n;
  for (int axis = 0; fits && axis + 1 < x.ndim(); ++axis) fits = out.dim(axis) == x.dim(axis);
  if (!fits)
    fail_value("out must have the shape of x with " + std::to_string(n) + " as last axis, got " + out.shape_text() +
               " for x " + x.shape_text());
}

/// The type of the result: of `out`, else the argument, else bf16.
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

/// A problem as the library knows it.
struct KnownProblem {
  Key key;
  std::vector<TensorSpec> specs;
};

/// Looks a problem up that earlier calls had, so that only the first parses its text. The GIL guards it.
const KnownProblem& known_problem(const QuantisedOp& op, Dispatcher& dispatcher, int64_t m, int64_t n, int64_t k,
                                  DType in, DType out, bool bias, bool is_tensor) {
  using Place = std::tuple<const QuantisedOp*, int64_t, int64_t, int64_t, DType, DType, bool, bool>;
  static auto& all = *new std::map<Place, KnownProblem>;
  constexpr size_t kMaxKnown = 4096;
  const Place place{&op, m, n, k, in, out, bias, is_tensor};
  if (const auto found = all.find(place); found != all.end()) return found->second;
  std::string problem = std::string(op.name) + " m=" + std::to_string(m) + " n=" + std::to_string(n) +
                        " k=" + std::to_string(k) + " outdtype=" + text(out);
  if (op.types.size() > 1) problem += " q_dtype_w=" + text(in);
  if (bias) problem += " bias=1";
  if (is_tensor) problem += " scale=tensor";
  KnownProblem known{dispatcher.key(problem), dispatcher.operands(problem)};
  if (all.size() >= kMaxKnown) all.clear();
  return all.emplace(place, std::move(known)).first->second;
}

/// Whether the scales have the elements, and with several for each row the last axis, that the problem states.
bool fits(const Operand& scale, const TensorSpec& spec) {
  const int64_t columns = spec.shape.size() > 1 ? spec.shape.back() : 1;
  return scale.elements() == spec.elements() &&
         (spec.shape.size() == 1 || (scale.ndim() > 0 && scale.dim(scale.ndim() - 1) == columns));
}

std::string shape_text(const TensorSpec& spec) {
  std::string text = "(";
  for (size_t axis = 0; axis < spec.shape.size(); ++axis)
    text += (axis == 0 ? "" : ", ") + std::to_string(spec.shape[axis]);
  return text + (spec.shape.size() == 1 ? ",)" : ")");
}

void check_scales(const Operand& x_scale, const Operand& w_scale, const std::vector<TensorSpec>& specs) {
  const TensorSpec &of_x = specs[2], &of_w = specs[3];
  check_type("x_scale", x_scale, of_x.dtype);
  check_type("w_scale", w_scale, of_w.dtype);
  if (fits(x_scale, of_x) && fits(w_scale, of_w)) return;
  if (of_x.shape.size() == 1) {
    fail_value("x_scale and w_scale must have one element for each row of x and of w, " +
               std::to_string(of_x.elements()) + " and " + std::to_string(of_w.elements()) +
               ", or one element each; their shapes are " + x_scale.shape_text() + " and " + w_scale.shape_text());
  }
  fail_value("x_scale and w_scale must have a scale for each block, the shapes " + shape_text(of_x) + " and " +
             shape_text(of_w) + " for x as a matrix, got " + x_scale.shape_text() + " and " + w_scale.shape_text());
}

nb::object quantised_product(const QuantisedOp& op, nb::handle x_array, nb::handle w_array, nb::handle x_scale_array,
                             nb::handle w_scale_array, nb::handle bias_array, nb::object out_array,
                             const std::optional<std::string>& out_dtype, nb::handle stream) {
  CallDevice call(stream);
  const Operand x("x", x_array, call, false, ElementTypes::all, op.element_bytes),
      w("w", w_array, call, false, ElementTypes::all, op.element_bytes);
  check_element_type(op, "x", x);
  check_type("w", w, x.dtype());
  check_shapes(x, w);
  // Arrays of four bits have two elements a byte. An odd k is computed as the next even one, over a zero.
  const int64_t n = w.dim(0), stored = w.dim(1), m = x.elements() / stored;
  const int64_t k = bits(x.dtype()) == 4 ? 2 * stored : stored;
  const Operand x_scale("x_scale", x_scale_array, call, false, ElementTypes::all, op.scale_bytes),
      w_scale("w_scale", w_scale_array, call, false, ElementTypes::all, op.scale_bytes);
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
  // One scale each is of the matrices, where the op has such.
  const bool is_tensor = op.scales_rows && x_scale.elements() == 1 && w_scale.elements() == 1 && (m != 1 || n != 1);
  const CallPlace& place = call.place();
  Dispatcher& its = dispatcher(place);
  const KnownProblem* known =
      m == 0 ? nullptr : &known_problem(op, its, m, n, k, x.dtype(), type, bias.has_value(), is_tensor);
  if (known != nullptr) check_scales(x_scale, w_scale, known->specs);
  if (!given) {
    out_array = x.make_out(x_array, n, type);
    given.emplace("out", out_array, call, true);
  }
  if (known == nullptr) return out_array;  // Without rows there is nothing to write.

  std::array<void*, 6> operands = {x.data(), w.data(), x_scale.data(), w_scale.data(), given->data(), given->data()};
  if (bias) operands[4] = bias->data();
  const Key key = known->key;
  ShapeCapture::note(key, limit_of_threads(place, its));
  const GilRelease others_run;
  its.run(key, {operands.data(), bias ? size_t{6} : size_t{5}}, place.stream);
  return out_array;
}

}  // namespace

void add_quantised_products(nb::module_& module) {
  using Text = std::optional<std::string>;
  const auto none = nb::none();
  for (const QuantisedOp& op : kOps) {
    if (op.scales_rows) {
      module.def(
          op.name,
          [&op](nb::handle x, nb::handle w, nb::handle x_scale, nb::handle w_scale, nb::handle bias, nb::object out,
                const Text& out_dtype, nb::handle stream) {
            return quantised_product(op, x, w, x_scale, w_scale, bias, std::move(out), out_dtype, stream);
          },
          "x"_a, "w"_a, "x_scale"_a, "w_scale"_a, "bias"_a.none() = none, "out"_a.none() = none, nb::kw_only(),
          "out_dtype"_a.none() = none, "stream"_a.none() = none, op.doc);
    } else {
      module.def(
          op.name,
          [&op](nb::handle x, nb::handle w, nb::handle x_scale, nb::handle w_scale, nb::object out,
                const Text& out_dtype, nb::handle stream) {
            return quantised_product(op, x, w, x_scale, w_scale, nb::none(), std::move(out), out_dtype, stream);
          },
          "x"_a, "w"_a, "x_scale"_a, "w_scale"_a, "out"_a.none() = none, nb::kw_only(), "out_dtype"_a.none() = none,
          "stream"_a.none() = none, op.doc);
    }
  }
}

}  // namespace attune::python
