// SPDX-License-Identifier: MIT
#include "ops/gemm/gemm_op.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "ops/extent.h"
#include "ops/gemm/gemm_family.h"
#include "ops/gemm/gemm_reference.h"
#include "tensor/convert.h"
#include "tensor/random_fill.h"
#include "tensor/rounding.h"

namespace attune {
namespace {

const std::vector<AttributeSpec>& gemm_schema() {
  using enum ColumnKind;
  static const std::vector<AttributeSpec> schema = {
      {"m", integer, "", true, 1, kMaxExtent, "rows of x: tokens", {}},
      {"n", integer, "", true, 1, kMaxExtent, "rows of the weights: outputs of the layer", {}},
      {"k", integer, "", true, 1, kMaxExtent, "columns of x and of the weights", {}},
      {"dtype", dtype, "bf16", true, 0, 0, "type of x and the weights", {"bf16", "fp16", "fp32"}},
      {"outdtype", dtype, "=dtype", true, 0, 0, "type of the result", {"bf16", "fp16", "fp32"}},
      {"bias", flag, "0", true, 0, 1, "add a bias of N elements", {}},
      {"scale_ab", flag, "0", false, 0, 1, "per-tensor scales (fp8 inputs)", {}},
      {"bpreshuffle", flag, "0", false, 0, 1, "weights packed ahead, in a layout that the candidate names", {}},
      {"trans_a", flag, "0", false, 0, 1, "x is stored K×M", {}},
      {"trans_b", flag, "1", false, 0, 1, "the weights are stored N×K, as a linear layer holds them; 0: K×N", {}},
  };
  return schema;
}

/// Returns the attribute's text in a key, after checking it.
std::string checked(const Problem& problem, const AttributeSpec& spec, const std::string& default_value) {
  if (!problem.has(spec.name)) {
    if (default_value.empty()) fail(ErrorCode::invalid_input, "{} needs the attribute '{}'", problem.op(), spec.name);
    return default_value;
  }
  const std::string& text = problem.text(spec.name);
  if (spec.kind == ColumnKind::dtype) {
    const auto parsed = parse_dtype(text);
    if (parsed && std::find(spec.allowed.begin(), spec.allowed.end(), name(*parsed)) != spec.allowed.end())
      return std::string(name(*parsed));
    std::vector<std::string> allowed(spec.allowed.begin(), spec.allowed.end());
    fail(ErrorCode::invalid_input, "{} supports {} of {}, got '{}'", problem.op(), spec.name, join(allowed, ", "),
         text);
  }
  if (spec.kind == ColumnKind::flag) {
    if (const auto value = parse_bool(text)) return *value ? "1" : "0";
    fail(ErrorCode::invalid_input, "attribute '{}' expects 0 or 1, got '{}'", spec.name, text);
  }
  const auto value = parse_int(text);
  if (!value || *value < spec.min || *value > spec.max) {
    fail(ErrorCode::invalid_input, "attribute '{}' expects a whole number from {} to {}, got '{}'", spec.name, spec.min,
         spec.max, text);
  }
  return std::to_string(*value);
}

}  // namespace

GemmShape GemmShape::of(const Problem& problem) {
  return {problem.integer("m"),
          problem.integer("n"),
          problem.integer("k"),
          problem.dtype("dtype"),
          problem.dtype("outdtype"),
          problem.integer_or("bias", 0) != 0,
          problem.integer_or("trans_a", 0) != 0,
          problem.integer_or("trans_b", 1) == 0,
          problem.integer_or("bpreshuffle", 0) != 0};
}

std::span<const AttributeSpec> GemmOp::schema() const { return gemm_schema(); }
const FamilySpec& GemmOp::family() const { return gemm_a16w16_family(); }

Problem GemmOp::normalise(const Problem& problem, const DeviceInfo&) const {
  for (const auto& [attribute, value] : problem.attributes()) {
    const auto& all = gemm_schema();
    if (std::none_of(all.begin(), all.end(), [&](const AttributeSpec& spec) { return spec.name == attribute; })) {
      fail(ErrorCode::invalid_input, "{} has no attribute '{}'", name(), attribute);
    }
  }
  std::vector<std::pair<std::string, std::string>> attributes;
  std::string in;
  for (const AttributeSpec& spec : gemm_schema()) {
    const std::string default_value = spec.default_value == "=dtype" ? in : std::string(spec.default_value);
    std::string value = checked(problem, spec, default_value);
    if (spec.name == "dtype") in = value;
    if (spec.always || value != spec.default_value) attributes.emplace_back(spec.name, std::move(value));
  }
  const auto is = [&](std::string_view attribute, std::string_view wanted) {
    return std::find(attributes.begin(), attributes.end(), std::pair<std::string, std::string>(attribute, wanted)) !=
           attributes.end();
  };
  if (is("bpreshuffle", "1") && is("trans_b", "0")) {
    fail(ErrorCode::invalid_input, "weights that are packed ahead (bpreshuffle=1) must be N×K, use trans_b=1");
  }
  return Problem(std::string(name()), std::move(attributes));
}

Work GemmOp::work(const Problem& problem) const {
  const auto shape = GemmShape::of(problem);
  double bytes = 0;
  for (const TensorSpec& tensor : tensors(problem)) bytes += static_cast<double>(tensor.bytes());
  return {.flops = 2 * shape.macs(), .bytes = bytes, .arithmetic = shape.in};
}

std::vector<TensorSpec> GemmOp::tensors(const Problem& problem) const {
  const auto shape = GemmShape::of(problem);
  const auto matrix = [](int64_t rows, int64_t columns, bool transposed) {
    return transposed ? std::vector<int64_t>{columns, rows} : std::vector<int64_t>{rows, columns};
  };
  std::vector<TensorSpec> tensors;
  tensors.push_back(
      {.role = "a", .dtype = shape.in, .shape = matrix(shape.m, shape.k, shape.trans_a), .use = Use::activation});
  tensors.push_back({.role = "b",
                     .dtype = shape.in,
                     .shape = matrix(shape.n, shape.k, shape.b_is_kn),
                     .use = Use::weight,
                     .is_packed = shape.packed});
  if (shape.bias) tensors.push_back({.role = "bias", .dtype = shape.in, .shape = {shape.n}, .use = Use::weight});
  tensors.push_back({.role = "c", .dtype = shape.out, .shape = {shape.m, shape.n}, .use = Use::output});
  // The alignment of every allocator (malloc, NumPy); a kernel must not rely on more. Timed copies are better aligned
  // (rotation.h).
  for (TensorSpec& tensor : tensors) tensor.alignment_bytes = 16;
  return tensors;
}

void GemmOp::fill(const Problem& problem, Distribution distribution, uint64_t seed, const HostTensors& tensors) const {
  const auto specs = this->tensors(problem);
  for (size_t i = 0; i + 1 < specs.size(); ++i) {
    if (distribution == Distribution::normal)
      fill_normal(specs[i].dtype, seed + i, tensors.operands[i]);
    else
      fill_integers(specs[i].dtype, seed + i, 4, tensors.operands[i]);
  }
}

void GemmOp::reference(const Problem& problem, Path path, RowRange rows, const HostTensors& tensors,
                       Reference& out) const {
  const auto shape = GemmShape::of(problem);
  if (path == Path::naive)
    naive_gemm(shape, rows, tensors, out);
  else
    fast_gemm(shape, rows, tensors, out);
}

int64_t GemmOp::output_rows(const Problem& problem) const { return problem.integer("m"); }

Tolerance GemmOp::tolerance(const Problem& problem) const {
  const auto shape = GemmShape::of(problem);
  const double root_k = std::sqrt(static_cast<double>(shape.k));
  const double rtol = shape.out == DType::fp32 ? 1e-4 : 2 * Rounding::of(shape.out).unit;
  // Accumulation in fp32 of K terms of random sign errs by about 0.35·√K·eps of the typical |dot|; the largest of 10^8
  // elements is below six such deviations. Accumulating in bf16 is 2^16 times worse, so the factor is not delicate.
  return {.rtol = rtol,
          .atol = rtol * 0.1 * root_k,
          .max_relative = 4 * root_k * Rounding::of(DType::fp32).unit,
          .max_cosine = shape.out == DType::fp32 ? 1e-9 : 1e-5};
}

void register_gemm_ops(std::vector<const Op*>& ops);
void register_gemm_ops(std::vector<const Op*>& ops) {
  static const GemmOp op;
  ops.push_back(&op);
}

}  // namespace attune
