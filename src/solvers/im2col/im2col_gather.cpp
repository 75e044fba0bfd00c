// SPDX-License-Identifier: MIT
#include "solvers/im2col/im2col_gather.h"

#include <cstring>

namespace attune {
namespace {

using ResultTensor = ConvShape::Tensor;

/// Calls `work` with typed pointers: elements of each size are copied alike.
template <typename Work>
void with_elements(const ConvShape& shape, const std::byte* from, std::byte* to, Work work) {
  if (bits(shape.dtype) == 32)
    work(reinterpret_cast<const uint32_t*>(from), reinterpret_cast<uint32_t*>(to));
  else
    work(reinterpret_cast<const uint16_t*>(from), reinterpret_cast<uint16_t*>(to));
}

}  // namespace

void gather_positions(const ConvShape& shape, const std::byte* other, int64_t n, int64_t group, std::byte* rows,
                      int64_t* positions) {
  const bool is_map = shape.result == ResultTensor::map;
  const int64_t channels = is_map ? shape.image_channels : shape.map_channels, of_group = channels / shape.groups;
  const int64_t other_positions = product(is_map ? shape.image : shape.map), taps = shape.taps();
  const Extents& extents = is_map ? shape.map : shape.image;
  with_elements(shape, other, rows, [&](const auto* from, auto* to) {
    from += n * channels * other_positions;
    const int64_t first = group * of_group;
    for (int64_t at = 0; at < product(extents); ++at) {
      const Extents place = split(at, extents);
      for (int64_t tap = 0; tap < taps; ++tap) {
        const Extents tap_at = split(tap, shape.filter);
        positions[tap] = is_map ? shape.image_position(place, tap_at) : shape.map_position(place, tap_at);
      }
      if (shape.channels_last) {
        for (int64_t tap = 0; tap < taps; ++tap, to += of_group) {
          const auto bytes = static_cast<size_t>(of_group) * sizeof *to;
          if (positions[tap] < 0)
            std::memset(to, 0, bytes);
          else
            std::memcpy(to, from + positions[tap] * channels + first, bytes);
        }
        continue;
      }
      for (int64_t channel = first; channel < first + of_group; ++channel) {
        const auto* const plane = from + channel * other_positions;
        for (int64_t tap = 0; tap < taps; ++tap) *to++ = positions[tap] < 0 ? 0 : plane[positions[tap]];
      }
    }
  });
}

void gather_weights(const ConvShape& shape, const std::byte* weights, int64_t group, std::byte* rows) {
  const int64_t of_group = shape.group_map_channels(), taps = shape.taps(), first = group * of_group;
  with_elements(shape, weights, rows, [&](const auto* from, auto* to) {
    for (int64_t channel = 0; channel < shape.group_image_channels(); ++channel) {
      if (shape.channels_last) {
        for (int64_t tap = 0; tap < taps; ++tap) {
          for (int64_t m = first; m < first + of_group; ++m) *to++ = from[shape.weight_index(m, channel, tap)];
        }
      } else {
        for (int64_t m = first; m < first + of_group; ++m) {
          for (int64_t tap = 0; tap < taps; ++tap) *to++ = from[shape.weight_index(m, channel, tap)];
        }
      }
    }
  });
}

void gather_taps(const ConvShape& shape, const std::byte* image, int64_t n, int64_t group, std::byte* rows) {
  const int64_t of_group = shape.group_image_channels(), taps = shape.taps(), positions = product(shape.map);
  const int64_t image_positions = product(shape.image);
  with_elements(shape, image, rows, [&](const auto* from, auto* to) {
    const auto gather_row = [&](int64_t channel, int64_t tap) {
      const Extents tap_at = split(tap, shape.filter);
      Extents at{};
      for (int64_t position = 0; position < positions; ++position) {
        const int64_t pixel = shape.image_position(at, tap_at);
        *to++ = pixel < 0
                    ? 0
                    : from[shape.index(n, group * of_group + channel, pixel, shape.image_channels, image_positions)];
        for (size_t axis = at.size(); axis-- > 0 && ++at[axis] == shape.map[axis];) at[axis] = 0;
      }
    };
    if (shape.channels_last) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        for (int64_t channel = 0; channel < of_group; ++channel) gather_row(channel, tap);
      }
    } else {
      for (int64_t channel = 0; channel < of_group; ++channel) {
        for (int64_t tap = 0; tap < taps; ++tap) gather_row(channel, tap);
      }
    }
  });
}

void gather_map(const ConvShape& shape, const std::byte* map, int64_t n, int64_t group, std::byte* rows) {
  const int64_t of_group = shape.group_map_channels(), positions = product(shape.map);
  with_elements(shape, map, rows, [&](const auto* from, auto* to) {
    for (int64_t m = group * of_group; m < (group + 1) * of_group; ++m) {
      for (int64_t position = 0; position < positions; ++position)
        *to++ = from[shape.index(n, m, position, shape.map_channels, positions)];
    }
  });
}

void scatter_channels(const ConvShape& shape, const std::byte* rows, int64_t n, int64_t group, std::byte* result) {
  const bool is_map = shape.result == ResultTensor::map;
  const int64_t channels = is_map ? shape.map_channels : shape.image_channels, of_group = channels / shape.groups;
  const int64_t positions = product(is_map ? shape.map : shape.image);
  with_elements(shape, rows, result, [&](const auto* from, auto* to) {
    to += n * positions * channels + group * of_group;
    for (int64_t position = 0; position < positions; ++position, from += of_group, to += channels)
      std::memcpy(to, from, static_cast<size_t>(of_group) * sizeof *to);
  });
}

}  // namespace attune
