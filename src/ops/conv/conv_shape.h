// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "attune/dtype.h"
#include "attune/problem.h"

namespace attune {

/// The result of a problem. Keys hold the numbers, which are the places in kConvDirections.
enum class ConvDirection : uint8_t { forward, backward_data, backward_weights };
inline constexpr std::array<std::string_view, 3> kConvDirections = {"fwd", "bwd_data", "bwd_weights"};

/// The order of all three tensors. Keys hold the numbers, which are the places in kConvLayouts: new ones are added at
/// the end. Weights have K for N, and C/groups for C.
enum class ConvLayout : uint8_t { nchw, nhwc, ncdhw, ndhwc };
inline constexpr std::array<std::string_view, 4> kConvLayouts = {"NCHW", "NHWC", "NCDHW", "NDHWC"};

/// Depth, height, width. A 2-D problem has one plane: extents and filter 1, pad 0.
using Extents = std::array<int64_t, 3>;
inline int64_t product(const Extents& extents) noexcept { return extents[0] * extents[1] * extents[2]; }

/// A normalised problem as numbers. Each problem reads two of three tensors and writes the third:
///
///   map[n, m, o] = Σ_{c, t} image[n, c, o·stride − pad + t·dilation] · weights[m, c, t]
///
/// The image is what the filter slides over. It is the input of a convolution, and the output of a transposed one,
/// whose forward pass is the backward-data pass of the convolution with image and map exchanged. Channel m of
/// the map reads the channels of the image that are of its group.
struct ConvShape {
  enum class Tensor : uint8_t { map, image, weights };

  Tensor result = Tensor::map;
  DType dtype = DType::fp32;
  bool channels_last = false;
  bool is_3d = false;
  int64_t n = 0, groups = 1;
  int64_t image_channels = 0, map_channels = 0;
  Extents image{}, map{}, filter{}, pad{}, stride{}, dilation{};
  /// Index of each tensor in Op::tensors().
  size_t image_operand = 0, weights_operand = 1, map_operand = 2;

  /// Requires a normalised problem.
  static ConvShape of(const Problem& problem);

  int64_t taps() const noexcept { return product(filter); }
  int64_t group_image_channels() const noexcept { return image_channels / groups; }
  int64_t group_map_channels() const noexcept { return map_channels / groups; }
  /// Products that are summed for one element of the result, those with padding included.
  int64_t terms() const noexcept;
  /// Products of the whole problem, those with padding included.
  double macs() const noexcept;

  /// Index of an element of the image or the map, of `channels` and `positions` in a plane or volume.
  int64_t index(int64_t image_number, int64_t channel, int64_t position, int64_t channels,
                int64_t positions) const noexcept {
    return channels_last ? (image_number * positions + position) * channels + channel
                         : (image_number * channels + channel) * positions + position;
  }
  /// Index of a weight: `channel` counts within the group.
  int64_t weight_index(int64_t map_channel, int64_t channel, int64_t tap) const noexcept {
    return channels_last ? (map_channel * taps() + tap) * group_image_channels() + channel
                         : (map_channel * group_image_channels() + channel) * taps() + tap;
  }
  /// The position in the image that a tap reads for a position of the map; −1: padding.
  int64_t image_position(const Extents& map_at, const Extents& tap) const noexcept;
  /// The position of the map that reads a position of the image through a tap; −1: none.
  int64_t map_position(const Extents& image_at, const Extents& tap) const noexcept;
};

/// Depth, height and width of a position, in row-major order.
inline Extents split(int64_t position, const Extents& extents) noexcept {
  const int64_t row = position / extents[2];
  return {row / extents[1], row % extents[1], position % extents[2]};
}

/// The extent of a forward output along one axis; 0 or less without one.
int64_t conv_output_extent(int64_t extent, int64_t filter, int64_t pad, int64_t stride, int64_t dilation) noexcept;
/// The same of a transposed convolution.
int64_t transposed_output_extent(int64_t extent, int64_t filter, int64_t pad, int64_t stride, int64_t dilation,
                                 int64_t output_pad) noexcept;

}  // namespace attune
