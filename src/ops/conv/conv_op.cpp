// SPDX-License-Identifier: MIT
#include "ops/conv/conv_op.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/conv/conv_reference.h"
#include "ops/conv/conv_shape.h"
#include "ops/schema.h"
#include "tensor/random_fill.h"
#include "tensor/rounding.h"

namespace attune {
namespace {

/// The largest tensor. Sizes are checked in double, in which they cannot overflow.
constexpr double kMaxTensorBytes = 0x1p40;

/// The names of an attribute of each axis.
struct AxisNames {
  std::string_view input, filter, pad, stride, dilation, output_pad;
};
constexpr AxisNames kAxes[] = {{"d", "z", "pad_d", "stride_d", "dilation_d", "output_pad_d"},
                               {"h", "y", "pad_h", "stride_h", "dilation_h", "output_pad_h"},
                               {"w", "x", "pad_w", "stride_w", "dilation_w", "output_pad_w"}};

void check_groups(const Problem& problem) {
  const int64_t groups = problem.integer_or("groups", 1);
  for (const char* channels : {"c", "k"}) {
    if (problem.integer(channels) % groups != 0)
      fail(ErrorCode::invalid_input, "attribute 'groups' must divide '{}': {} does not divide {}", channels, groups,
           problem.integer(channels));
  }
}

void check_depth(const Problem& problem) {
  const bool is_3d = problem.has("layout") && problem.text("layout").find('D') != std::string::npos;
  for (const std::string_view attribute :
       {kAxes[0].input, kAxes[0].filter, kAxes[0].pad, kAxes[0].stride, kAxes[0].dilation, kAxes[0].output_pad}) {
    if (!is_3d && problem.has(attribute))
      fail(ErrorCode::invalid_input, "attribute '{}' needs a 3-D layout, NCDHW or NDHWC", attribute);
  }
}

void check_axis(const Problem& problem, const AxisNames& names) {
  const auto value = [&](std::string_view attribute, int64_t otherwise) {
    return problem.integer_or(attribute, otherwise);
  };
  const int64_t input = value(names.input, 1), filter = value(names.filter, 1), pad = value(names.pad, 0),
                stride = value(names.stride, 1), dilation = value(names.dilation, 1),
                output_pad = value(names.output_pad, 0);
  const bool is_transposed = value("transposed", 0) != 0;
  if (output_pad > 0 && !is_transposed)
    fail(ErrorCode::invalid_input, "attribute '{}' is for transposed=1 only", names.output_pad);
  if (output_pad > 0 && output_pad >= std::max(stride, dilation))
    fail(ErrorCode::invalid_input, "attribute '{}' must be below the stride or the dilation, got {}", names.output_pad,
         output_pad);
  // All values are below 2^31, so that no product of two overflows.
  const int64_t output = is_transposed ? transposed_output_extent(input, filter, pad, stride, dilation, output_pad)
                                       : conv_output_extent(input, filter, pad, stride, dilation);
  if (output <= 0)
    fail(ErrorCode::invalid_input, "attribute '{}' is too small for the filter: {}={} gives no output", names.input,
         names.input, input);
  if (output > kMaxExtent)
    fail(ErrorCode::invalid_input, "attribute '{}' is too large: its output would have an extent of {}", names.input,
         output);
}

void check_sizes(const Problem& problem) {
  const auto shape = ConvShape::of(problem);
  const double element = bits(shape.dtype) / 8.0;
  const auto bytes = [&](std::initializer_list<int64_t> first, const Extents& extents) {
    double product = element;
    for (const int64_t one : first) product *= static_cast<double>(one);
    for (const int64_t one : extents) product *= static_cast<double>(one);
    return product;
  };
  const bool is_transposed = problem.integer_or("transposed", 0) != 0;
  const auto check = [&](const char* tensor, const char* attributes, double size) {
    if (size > kMaxTensorBytes)
      fail(ErrorCode::invalid_input, "the {} would have {:.3g} TB and 1.1 TB is the limit: reduce {}", tensor,
           size / 1e12, attributes);
  };
  const double image = bytes({shape.n, shape.image_channels}, shape.image);
  const double map = bytes({shape.n, shape.map_channels}, shape.map);
  check("input", "n, c, h or w", is_transposed ? map : image);
  check("output", "n, k, h or w", is_transposed ? image : map);
  check("weights", "c, k, y or x", bytes({shape.map_channels, shape.group_image_channels()}, shape.filter));
}

/// A tensor of N (or K) × C × positions in the order of the layout.
TensorSpec tensor_of(const ConvShape& shape, const char* role, Use use, int64_t first, int64_t channels,
                     const Extents& extents) {
  TensorSpec spec{.role = role, .dtype = shape.dtype, .shape = {first}, .use = use};
  if (!shape.channels_last) spec.shape.push_back(channels);
  for (size_t i = shape.is_3d ? 0 : 1; i < extents.size(); ++i) spec.shape.push_back(extents[i]);
  if (shape.channels_last) spec.shape.push_back(channels);
  return spec;
}

}  // namespace

const FamilySpec& ConvOp::family() const { return conv_family(); }

Problem ConvOp::normalise(const Problem& problem, const DeviceInfo& device) const {
  Problem whole = normalised(problem, family(), device);
  check_groups(whole);
  check_depth(whole);
  for (const AxisNames& axis : kAxes) check_axis(whole, axis);
  check_sizes(whole);
  return whole;
}

Work ConvOp::work(const Problem& problem) const {
  const auto shape = ConvShape::of(problem);
  Work work{.flops = 2 * shape.macs(), .arithmetic = shape.dtype};
  for (const TensorSpec& one : tensors(problem)) work.bytes += static_cast<double>(one.bytes());
  return work;
}

std::vector<TensorSpec> ConvOp::tensors(const Problem& problem) const {
  const auto shape = ConvShape::of(problem);
  const bool is_transposed = problem.integer_or("transposed", 0) != 0;
  const auto image = [&](const char* role, Use use) {
    return tensor_of(shape, role, use, shape.n, shape.image_channels, shape.image);
  };
  const auto map = [&](const char* role, Use use) {
    return tensor_of(shape, role, use, shape.n, shape.map_channels, shape.map);
  };
  const auto input = [&](const char* role, Use use) { return is_transposed ? map(role, use) : image(role, use); };
  const auto output = [&](const char* role, Use use) { return is_transposed ? image(role, use) : map(role, use); };
  const auto weights = [&](const char* role, Use use) {
    return tensor_of(shape, role, use, shape.map_channels, shape.group_image_channels(), shape.filter);
  };
  const std::string& direction = problem.text("direction");
  std::vector<TensorSpec> tensors;
  if (direction == "fwd")
    tensors = {input("input", Use::activation), weights("weight", Use::weight), output("output", Use::output)};
  else if (direction == "bwd_data")
    tensors = {output("output_grad", Use::activation), weights("weight", Use::weight),
               input("input_grad", Use::output)};
  else
    tensors = {input("input", Use::activation), output("output_grad", Use::activation),
               weights("weight_grad", Use::output)};
  if (shape.dtype == DType::int8) tensors.back().dtype = DType::int32;
  return tensors;
}

void ConvOp::fill(const Problem& problem, Distribution distribution, uint64_t seed, const HostTensors& tensors) const {
  const auto specs = this->tensors(problem);
  for (size_t i = 0; i + 1 < specs.size(); ++i) {
    if (distribution == Distribution::integers)
      fill_integers(specs[i].dtype, seed + i, 4, tensors.operands[i]);
    else
      fill_normal(specs[i].dtype, seed + i, tensors.operands[i]);
  }
}

void ConvOp::reference(const Problem& problem, Path path, const HostTensors& tensors, const ReferencePart& out) const {
  const auto shape = ConvShape::of(problem);
  if (path == Path::naive)
    naive_conv(shape, tensors, out);
  else
    fast_conv(shape, tensors, out);
}

Tolerance ConvOp::tolerance(const Problem& problem) const {
  const auto shape = ConvShape::of(problem);
  const auto terms = static_cast<double>(shape.terms());
  const double unit = Rounding::of(DType::fp32).unit, root = std::sqrt(terms);
  const double rtol = shape.dtype == DType::fp32 ? 1e-4 : 2 * Rounding::of(shape.dtype).unit;
  // Winograd's F(4×4, 3×3) in fp32 errs by up to 5.6·√terms·2^-24 (oneDNN 2.6), direct sums by less than 4. A tap that
  // is missing changes a sum by 1/√taps of its size, which is 4,000 times the bound at 4,608 terms. Narrow types may
  // be summed by matrix units, which truncate (ops/gemm/gemm_op.cpp).
  const double of_truncation = shape.dtype == DType::fp32 ? 0 : terms / 2;
  return {.rtol = rtol,
          .atol = rtol * 0.1 * root,
          .max_relative = (16 * root + of_truncation) * unit,
          .max_cosine = shape.dtype == DType::fp32 ? 1e-9 : 1e-5};
}

void register_conv_ops(std::vector<const Op*>& ops);
void register_conv_ops(std::vector<const Op*>& ops) {
  static const ConvOp op;
  ops.push_back(&op);
}

}  // namespace attune
