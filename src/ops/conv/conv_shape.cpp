// SPDX-License-Identifier: MIT
#include "ops/conv/conv_shape.h"

#include "ops/family.h"

namespace attune {
namespace {

int64_t choice_of(std::span<const std::string_view> choices, const std::string& text) {
  return static_cast<int64_t>(choice_number(choices, text).value_or(0));
}

}  // namespace

int64_t conv_output_extent(int64_t extent, int64_t filter, int64_t pad, int64_t stride, int64_t dilation) noexcept {
  const int64_t room = extent + 2 * pad - dilation * (filter - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

int64_t transposed_output_extent(int64_t extent, int64_t filter, int64_t pad, int64_t stride, int64_t dilation,
                                 int64_t output_pad) noexcept {
  return (extent - 1) * stride - 2 * pad + dilation * (filter - 1) + 1 + output_pad;
}

ConvShape ConvShape::of(const Problem& problem) {
  const auto number = [&](std::string_view attribute, int64_t otherwise) {
    return problem.integer_or(attribute, otherwise);
  };
  ConvShape shape;
  const auto layout = problem.has("layout") ? static_cast<ConvLayout>(choice_of(kConvLayouts, problem.text("layout")))
                                            : ConvLayout::nchw;
  shape.channels_last = layout == ConvLayout::nhwc || layout == ConvLayout::ndhwc;
  shape.is_3d = layout == ConvLayout::ncdhw || layout == ConvLayout::ndhwc;
  shape.dtype = problem.dtype("dtype");
  shape.n = problem.integer("n");
  shape.groups = number("groups", 1);
  shape.filter = {number("z", 1), problem.integer("y"), problem.integer("x")};
  shape.pad = {number("pad_d", 0), number("pad_h", 0), number("pad_w", 0)};
  shape.stride = {number("stride_d", 1), number("stride_h", 1), number("stride_w", 1)};
  shape.dilation = {number("dilation_d", 1), number("dilation_h", 1), number("dilation_w", 1)};
  const bool is_transposed = number("transposed", 0) != 0;
  const Extents output_pad = {number("output_pad_d", 0), number("output_pad_h", 0), number("output_pad_w", 0)};
  const Extents input = {number("d", 1), problem.integer("h"), problem.integer("w")};
  Extents output{};
  for (size_t i = 0; i < output.size(); ++i) {
    output[i] = is_transposed
                    ? transposed_output_extent(input[i], shape.filter[i], shape.pad[i], shape.stride[i],
                                               shape.dilation[i], output_pad[i])
                    : conv_output_extent(input[i], shape.filter[i], shape.pad[i], shape.stride[i], shape.dilation[i]);
  }
  const int64_t c = problem.integer("c"), k = problem.integer("k");
  shape.image = is_transposed ? output : input;
  shape.map = is_transposed ? input : output;
  shape.image_channels = is_transposed ? k : c;
  shape.map_channels = is_transposed ? c : k;

  // Operands are (input, weights → output), (output, weights → input) and (input, output → weights).
  size_t input_operand = 0, output_operand = 2;
  switch (static_cast<ConvDirection>(choice_of(kConvDirections, problem.text("direction")))) {
    case ConvDirection::forward:
      shape.result = is_transposed ? Tensor::image : Tensor::map;
      break;
    case ConvDirection::backward_data:
      shape.result = is_transposed ? Tensor::map : Tensor::image;
      input_operand = 2;
      output_operand = 0;
      break;
    case ConvDirection::backward_weights:
      shape.result = Tensor::weights;
      output_operand = 1;
      shape.weights_operand = 2;
      break;
  }
  shape.image_operand = is_transposed ? output_operand : input_operand;
  shape.map_operand = is_transposed ? input_operand : output_operand;
  return shape;
}

int64_t ConvShape::terms() const noexcept {
  switch (result) {
    case Tensor::map:
      return group_image_channels() * taps();
    case Tensor::image:
      return group_map_channels() * taps();
    case Tensor::weights:
      break;
  }
  return n * product(map);
}

double ConvShape::macs() const noexcept {
  return static_cast<double>(n) * static_cast<double>(map_channels) * static_cast<double>(product(map)) *
         static_cast<double>(group_image_channels() * taps());
}

int64_t ConvShape::image_position(const Extents& map_at, const Extents& tap) const noexcept {
  int64_t position = 0;
  for (size_t i = 0; i < image.size(); ++i) {
    const int64_t at = map_at[i] * stride[i] - pad[i] + tap[i] * dilation[i];
    if (at < 0 || at >= image[i]) return -1;
    position = position * image[i] + at;
  }
  return position;
}

int64_t ConvShape::map_position(const Extents& image_at, const Extents& tap) const noexcept {
  int64_t position = 0;
  for (size_t i = 0; i < map.size(); ++i) {
    const int64_t from_start = image_at[i] + pad[i] - tap[i] * dilation[i];
    if (from_start < 0 || from_start % stride[i] != 0 || from_start / stride[i] >= map[i]) return -1;
    position = position * map[i] + from_start / stride[i];
  }
  return position;
}

}  // namespace attune
