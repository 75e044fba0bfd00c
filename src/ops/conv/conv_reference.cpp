// SPDX-License-Identifier: MIT
#include "ops/conv/conv_reference.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "ops/dot_block.h"
#include "tensor/convert.h"

namespace attune {
namespace {

using ConvTensor = ConvShape::Tensor;

/// The elements of an operand as stored.
class ConvElements {
 public:
  ConvElements(const ConvShape& shape, const HostTensors& tensors, size_t operand)
      : dtype_(shape.dtype), bytes_(tensors.operands[operand].data()) {}
  double operator[](int64_t index) const {
    float value = 0;
    to_float(dtype_, bytes_ + index * bits(dtype_) / 8, std::span(&value, 1));
    return value;
  }

 private:
  DType dtype_;
  const std::byte* bytes_;
};

/// The sum of one element, as it is made, and the squares of its two rows.
struct NaiveSum {
  double sum = 0, left = 0, right = 0;
  void add(double x, double y) {
    sum += x * y;
    left += x * x;
    right += y * y;
  }
};

NaiveSum naive_map(const ConvShape& shape, const HostTensors& tensors, int64_t n, int64_t channel, int64_t position) {
  const ConvElements image(shape, tensors, shape.image_operand), weights(shape, tensors, shape.weights_operand);
  const Extents at = split(position, shape.map);
  const int64_t of_group = shape.group_image_channels();
  const int64_t first = channel / shape.group_map_channels() * of_group;
  NaiveSum sum;
  for (int64_t c = 0; c < of_group; ++c) {
    for (int64_t tap = 0; tap < shape.taps(); ++tap) {
      const int64_t from = shape.image_position(at, split(tap, shape.filter));
      const double pixel =
          from < 0 ? 0 : image[shape.index(n, first + c, from, shape.image_channels, product(shape.image))];
      sum.add(weights[shape.weight_index(channel, c, tap)], pixel);
    }
  }
  return sum;
}

NaiveSum naive_image(const ConvShape& shape, const HostTensors& tensors, int64_t n, int64_t channel, int64_t position) {
  const ConvElements map(shape, tensors, shape.map_operand), weights(shape, tensors, shape.weights_operand);
  const Extents at = split(position, shape.image);
  const int64_t group = channel / shape.group_image_channels(), of_group = shape.group_map_channels();
  NaiveSum sum;
  for (int64_t m = group * of_group; m < (group + 1) * of_group; ++m) {
    for (int64_t tap = 0; tap < shape.taps(); ++tap) {
      const int64_t from = shape.map_position(at, split(tap, shape.filter));
      const double pixel = from < 0 ? 0 : map[shape.index(n, m, from, shape.map_channels, product(shape.map))];
      sum.add(weights[shape.weight_index(m, channel % shape.group_image_channels(), tap)], pixel);
    }
  }
  return sum;
}

NaiveSum naive_weight(const ConvShape& shape, const HostTensors& tensors, int64_t map_channel, int64_t channel,
                      int64_t tap) {
  const ConvElements image(shape, tensors, shape.image_operand), map(shape, tensors, shape.map_operand);
  const Extents tap_at = split(tap, shape.filter);
  const int64_t image_channel = map_channel / shape.group_map_channels() * shape.group_image_channels() + channel;
  const int64_t positions = product(shape.map);
  NaiveSum sum;
  for (int64_t n = 0; n < shape.n; ++n) {
    for (int64_t o = 0; o < positions; ++o) {
      const int64_t from = shape.image_position(split(o, shape.map), tap_at);
      const double pixel =
          from < 0 ? 0 : image[shape.index(n, image_channel, from, shape.image_channels, product(shape.image))];
      sum.add(map[shape.index(n, map_channel, o, shape.map_channels, positions)], pixel);
    }
  }
  return sum;
}

/// Places in a row of the result: its first axis is n, or the channel of the map for weights.
struct ResultPlace {
  int64_t channel, position;  ///< Of weights: the channel in its group, and the tap.
};
int64_t result_channels(const ConvShape& shape) {
  if (shape.result == ConvTensor::weights) return shape.group_image_channels();
  return shape.result == ConvTensor::map ? shape.map_channels : shape.image_channels;
}
int64_t result_positions(const ConvShape& shape) {
  if (shape.result == ConvTensor::weights) return shape.taps();
  return product(shape.result == ConvTensor::map ? shape.map : shape.image);
}
ResultPlace result_place(const ConvShape& shape, int64_t column) {
  const int64_t channels = result_channels(shape), positions = result_positions(shape);
  if (shape.channels_last) return {column % channels, column / channels};
  return {column / positions, column % positions};
}
int64_t result_column(const ConvShape& shape, ResultPlace place) {
  return shape.channels_last ? place.position * result_channels(shape) + place.channel
                             : place.channel * result_positions(shape) + place.position;
}

/// An operand as floats: of fp32 the operand itself, of other types a copy of some of its elements.
class ConvFloats {
 public:
  /// `begin`, `end`: the elements that are read. Indices count from the operand's start.
  ConvFloats(const ConvShape& shape, const HostTensors& tensors, size_t operand, int64_t begin, int64_t end)
      : begin_(begin) {
    const std::byte* stored = tensors.operands[operand].data() + begin * bits(shape.dtype) / 8;
    const auto count = static_cast<size_t>(end - begin);
    if (shape.dtype == DType::fp32) {
      values_ = reinterpret_cast<const float*>(stored);
      return;
    }
    copy_.resize(count);
    to_float(shape.dtype, stored, copy_);
    values_ = copy_.data();
  }
  float operator[](int64_t index) const { return values_[index - begin_]; }

 private:
  int64_t begin_;
  std::vector<float> copy_;
  const float* values_;
};

/// Rows of one kind, from `begin` to `end` of their terms, padded with zeros to whole blocks.
struct ConvPanel {
  int64_t stride = 0;
  std::vector<float> values;
  std::vector<double> squares;  ///< Of all terms so far.

  void start(int64_t rows) { squares.assign(static_cast<size_t>(rows), 0); }
  /// `load(row, values)` writes the terms of a row.
  template <typename Load>
  void load(int64_t rows, int64_t terms, Load load) {
    stride = (terms + kDotLanes - 1) / kDotLanes * kDotLanes;
    const int64_t padded = (rows + kDotRows - 1) / kDotRows * kDotRows;
    values.assign(static_cast<size_t>(padded * stride), 0.0f);
    for (int64_t row = 0; row < rows; ++row) {
      const auto out = std::span(values).subspan(static_cast<size_t>(row * stride), static_cast<size_t>(terms));
      load(row, out);
      double sum = 0;
      for (const float one : out) sum += static_cast<double>(one) * static_cast<double>(one);
      squares[static_cast<size_t>(row)] += sum;
    }
  }
};

constexpr int64_t kConvTermsAtOnce = 2048, kConvRowsAtOnce = 256;

/// Multiplies `left` rows by `right` rows of `terms` numbers and passes each element to `set(left, right, value,
/// scale)`. `load_left(row, begin, values)` writes values.size() terms of a row from `begin` on; so does `load_right`.
template <typename LoadLeft, typename LoadRight, typename Set>
void multiply_rows(int64_t left, int64_t right, int64_t terms, LoadLeft load_left, LoadRight load_right, Set set) {
  ConvPanel of_left, of_right;
  const double root = std::sqrt(static_cast<double>(terms));
  std::vector<double> sums;
  for (int64_t first = 0; first < right; first += kConvRowsAtOnce) {
    const int64_t columns = std::min(kConvRowsAtOnce, right - first);
    sums.assign(static_cast<size_t>(left * columns), 0);
    of_left.start(left);
    of_right.start(columns);
    for (int64_t begin = 0; begin < terms; begin += kConvTermsAtOnce) {
      const int64_t count = std::min(kConvTermsAtOnce, terms - begin);
      of_left.load(left, count, [&](int64_t row, std::span<float> out) { load_left(row, begin, out); });
      of_right.load(columns, count, [&](int64_t row, std::span<float> out) { load_right(first + row, begin, out); });
      for (int64_t i = 0; i < left; i += kDotRows) {
        for (int64_t j = 0; j < columns; j += kDotRows) {
          std::array<double, static_cast<size_t>(kDotRows * kDotRows)> block;
          dot_block(of_left.values.data() + i * of_left.stride, of_right.values.data() + j * of_right.stride,
                    of_left.stride, of_left.stride, block.data());
          for (int64_t y = i; y < std::min(i + kDotRows, left); ++y) {
            for (int64_t x = j; x < std::min(j + kDotRows, columns); ++x)
              sums[static_cast<size_t>(y * columns + x)] += block[static_cast<size_t>((y - i) * kDotRows + x - j)];
          }
        }
      }
    }
    for (int64_t y = 0; y < left; ++y) {
      for (int64_t x = 0; x < columns; ++x) {
        set(y, first + x, sums[static_cast<size_t>(y * columns + x)],
            std::sqrt(of_left.squares[static_cast<size_t>(y)]) * std::sqrt(of_right.squares[static_cast<size_t>(x)]) /
                root);
      }
    }
  }
}

/// The taps of the filter as places.
std::vector<Extents> taps_of(const ConvShape& shape) {
  std::vector<Extents> taps;
  for (int64_t tap = 0; tap < shape.taps(); ++tap) taps.push_back(split(tap, shape.filter));
  return taps;
}

/// Some elements of one image of the map or the image: rows are channels of a group times taps.
class DataSlice {
 public:
  DataSlice(const ConvShape& shape, const HostTensors& tensors, int64_t n)
      : shape_(shape),
        is_map_(shape.result == ConvTensor::map),
        n_(n),
        of_other_group_(is_map_ ? shape.group_image_channels() : shape.group_map_channels()),
        other_channels_(is_map_ ? shape.image_channels : shape.map_channels),
        other_positions_(product(is_map_ ? shape.image : shape.map)),
        taps_(taps_of(shape)),
        weights_(shape, tensors, shape.weights_operand, 0,
                 shape.map_channels * shape.group_image_channels() * shape.taps()),
        other_(shape, tensors, is_map_ ? shape.image_operand : shape.map_operand,
               n * other_channels_ * other_positions_, (n + 1) * other_channels_ * other_positions_) {}

  /// Elements of the columns in `wanted` among these channels of one group, from the first to the last position.
  void compute(IndexRange channels, IndexRange positions, IndexRange wanted, const ReferencePart& out) const {
    const int64_t of_own_group = is_map_ ? shape_.group_map_channels() : shape_.group_image_channels();
    const int64_t group = channels.begin / of_own_group;
    const int64_t taps = shape_.taps(), own_first = group * of_own_group, other_first = group * of_other_group_;
    // A term is a channel of the other tensor and a tap of the filter.
    const auto each = [&](int64_t begin, std::span<float> values, auto value) {
      int64_t channel = begin / taps, tap = begin % taps;
      for (float& one : values) {
        one = value(channel, tap);
        if (++tap == taps) {
          tap = 0;
          ++channel;
        }
      }
    };
    const auto load_weights = [&](int64_t row, int64_t begin, std::span<float> values) {
      const int64_t own = channels.begin + row;
      each(begin, values, [&](int64_t channel, int64_t tap) {
        return weights_[is_map_ ? shape_.weight_index(own, channel, tap)
                                : shape_.weight_index(other_first + channel, own - own_first, tap)];
      });
    };
    std::vector<int64_t> from(static_cast<size_t>(taps));
    const auto load_other = [&](int64_t row, int64_t begin, std::span<float> values) {
      const Extents at = split(positions.begin + row, is_map_ ? shape_.map : shape_.image);
      for (size_t tap = 0; tap < from.size(); ++tap)
        from[tap] = is_map_ ? shape_.image_position(at, taps_[tap]) : shape_.map_position(at, taps_[tap]);
      each(begin, values, [&](int64_t channel, int64_t tap) {
        const int64_t position = from[static_cast<size_t>(tap)];
        return position < 0
                   ? 0.0f
                   : other_[shape_.index(n_, other_first + channel, position, other_channels_, other_positions_)];
      });
    };
    multiply_rows(channels.size(), positions.size(), shape_.terms(), load_weights, load_other,
                  [&](int64_t row, int64_t column, double value, double scale) {
                    const int64_t at =
                        result_column(shape_, {.channel = channels.begin + row, .position = positions.begin + column});
                    if (at >= wanted.begin && at < wanted.end) out.set(n_, at, value, scale);
                  });
  }

 private:
  const ConvShape& shape_;
  bool is_map_;
  int64_t n_, of_other_group_, other_channels_, other_positions_;
  std::vector<Extents> taps_;
  ConvFloats weights_, other_;
};

void fast_data(const ConvShape& shape, const HostTensors& tensors, const ReferencePart& out) {
  const auto first = result_place(shape, out.columns.begin), last = result_place(shape, out.columns.end - 1);
  // All of the inner axis, unless the columns lie within one step of the outer one.
  IndexRange channels{first.channel, last.channel + 1}, positions{first.position, last.position + 1};
  if (shape.channels_last && positions.size() > 1) channels = {0, result_channels(shape)};
  if (!shape.channels_last && channels.size() > 1) positions = {0, result_positions(shape)};
  const int64_t of_group = result_channels(shape) / shape.groups;
  for (int64_t n = out.rows.begin; n < out.rows.end; ++n) {
    const DataSlice slice(shape, tensors, n);
    for (int64_t begin = channels.begin; begin < channels.end;) {
      const int64_t end = std::min(channels.end, (begin / of_group + 1) * of_group);
      slice.compute({begin, end}, positions, out.columns, out);
      begin = end;
    }
  }
}

void fast_weights(const ConvShape& shape, const HostTensors& tensors, const ReferencePart& out) {
  const int64_t map_positions = product(shape.map), image_positions = product(shape.image);
  const ConvFloats map(shape, tensors, shape.map_operand, 0, shape.n * shape.map_channels * map_positions);
  const ConvFloats image(shape, tensors, shape.image_operand, 0, shape.n * shape.image_channels * image_positions);
  const int64_t of_group = shape.group_map_channels();
  for (int64_t begin = out.rows.begin; begin < out.rows.end;) {
    const int64_t end = std::min(out.rows.end, (begin / of_group + 1) * of_group);
    const int64_t first_channel = begin / of_group * shape.group_image_channels();
    // A term is an image and a position of the map.
    const auto each = [&](int64_t from, std::span<float> values, auto value) {
      int64_t n = from / map_positions, position = from % map_positions;
      Extents at = split(position, shape.map);
      for (float& one : values) {
        one = value(n, position, at);
        ++position;
        for (size_t axis = at.size(); axis-- > 0 && ++at[axis] == shape.map[axis];) at[axis] = 0;
        if (position == map_positions) {
          position = 0;
          ++n;
        }
      }
    };
    const auto load_map = [&](int64_t row, int64_t from, std::span<float> values) {
      each(from, values, [&](int64_t n, int64_t position, const Extents&) {
        return map[shape.index(n, begin + row, position, shape.map_channels, map_positions)];
      });
    };
    const auto load_image = [&](int64_t row, int64_t from, std::span<float> values) {
      const auto [channel, tap] = result_place(shape, out.columns.begin + row);
      const Extents tap_at = split(tap, shape.filter);
      each(from, values, [&, channel = channel](int64_t n, int64_t, const Extents& at) {
        const int64_t position = shape.image_position(at, tap_at);
        return position < 0
                   ? 0.0f
                   : image[shape.index(n, first_channel + channel, position, shape.image_channels, image_positions)];
      });
    };
    multiply_rows(end - begin, out.columns.size(), shape.terms(), load_map, load_image,
                  [&](int64_t row, int64_t column, double value, double scale) {
                    out.set(begin + row, out.columns.begin + column, value, scale);
                  });
    begin = end;
  }
}

}  // namespace

void naive_conv(const ConvShape& shape, const HostTensors& tensors, const ReferencePart& out) {
  const double root = std::sqrt(static_cast<double>(shape.terms()));
  for (int64_t row = out.rows.begin; row < out.rows.end; ++row) {
    for (int64_t column = out.columns.begin; column < out.columns.end; ++column) {
      const auto [channel, position] = result_place(shape, column);
      const NaiveSum sum = shape.result == ConvTensor::map     ? naive_map(shape, tensors, row, channel, position)
                           : shape.result == ConvTensor::image ? naive_image(shape, tensors, row, channel, position)
                                                               : naive_weight(shape, tensors, row, channel, position);
      out.set(row, column, sum.sum, std::sqrt(sum.left) * std::sqrt(sum.right) / root);
    }
  }
}

void fast_conv(const ConvShape& shape, const HostTensors& tensors, const ReferencePart& out) {
  if (out.columns.size() <= 0 || out.rows.size() <= 0) return;
  if (shape.result == ConvTensor::weights)
    fast_weights(shape, tensors, out);
  else
    fast_data(shape, tensors, out);
}

}  // namespace attune
