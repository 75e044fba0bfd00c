// SPDX-License-Identifier: MIT
#pragma once
#include <cstddef>
#include <cstdint>

#include "ops/conv/conv_shape.h"

namespace attune {

// Matrices of a convolution's operands, in the operands' type. Padding becomes zero. A row of terms has the order of
// the weights in memory: channels × taps of NCHW, taps × channels of NHWC.

/// A row for each position of the result with the elements that it reads: from the image for a result `map`, from the
/// map for a result `image`. Writes positions × terms() elements. `positions`: room for as many numbers as the filter
/// has taps.
void gather_positions(const ConvShape& shape, const std::byte* other, int64_t n, int64_t group, std::byte* rows,
                      int64_t* positions);
/// The weights of a result `image`: a row for each of its channels in a group.
void gather_weights(const ConvShape& shape, const std::byte* weights, int64_t group, std::byte* rows);
/// For a result `weights`: a row for each weight of one channel of the map, with the pixels that it meets in an image.
void gather_taps(const ConvShape& shape, const std::byte* image, int64_t n, int64_t group, std::byte* rows);
/// For a result `weights`: the channels of the map as rows of positions.
void gather_map(const ConvShape& shape, const std::byte* map, int64_t n, int64_t group, std::byte* rows);
/// Writes positions × channels of one group into a tensor of NHWC.
void scatter_channels(const ConvShape& shape, const std::byte* rows, int64_t n, int64_t group, std::byte* result);

}  // namespace attune
