// SPDX-License-Identifier: MIT
#include "formats/perf_db/perf_db_shapes.h"

#include <fmt/format.h>

#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.h"
#include "formats/sqlite_file.h"

namespace attune {
namespace {

/// Places in kPerfDbNumbers, of three numbers the first: height, width, depth.
enum PerfDbPlace : size_t {
  kSpatialDim = 0,
  kInChannels = 1,
  kInExtents = 2,
  kFilter = 5,
  kOutChannels = 8,
  kBatchSize = 9,
  kPads = 10,
  kStrides = 13,
  kDilations = 16,
  kBias = 19,
  kGroupCount = 20
};

constexpr int64_t kMaxPerfDbNumber = int64_t{1} << 31;

Extents extents_at(const PerfDbConfig& config, size_t place) {
  return {config.numbers.at(place + 2), config.numbers.at(place), config.numbers.at(place + 1)};
}

void check_range(const PerfDbConfig& config, bool is_3d) {
  for (size_t i = 0; i < config.numbers.size(); ++i) {
    const bool is_pad = i >= kPads && i < kStrides,
               is_depth = i == kInExtents + 2 || i == kFilter + 2 || i == kStrides + 2 || i == kDilations + 2;
    const int64_t min = is_pad || i == kBias || (is_depth && !is_3d) ? 0 : 1;
    if (config.numbers[i] < min || config.numbers[i] > kMaxPerfDbNumber)
      fail(ErrorCode::invalid_input, "its {} must be at least {} and at most 2^31, got {}", kPerfDbNumbers[i], min,
           config.numbers[i]);
  }
}

/// The forward input's extents of a gradient, which the config does not state.
Extents input_of_gradient(const MiopenConv& conv, const Extents& output) {
  Extents input{1, 1, 1};
  for (size_t i = conv.is_3d ? 0 : 1; i < input.size(); ++i) {
    if (conv.stride[i] > 1)
      fail(ErrorCode::invalid_input, "its stride {} leaves open which input has the output {}", conv.stride[i],
           output[i]);
    input[i] = output[i] + conv.dilation[i] * (conv.filter[i] - 1) - 2 * conv.pad[i];
    if (input[i] < 1) fail(ErrorCode::invalid_input, "no input has its output {}", output[i]);
  }
  return input;
}

void add_perf_db_results(MiopenShapesBuilder& builder, const PerfDb& db,
                         const std::unordered_map<int64_t, size_t>& shapes) {
  for (const PerfDbRow& row : db.rows) {
    const auto shape = shapes.find(row.config);
    if (shape == shapes.end()) continue;
    builder.add_result({.shape = shape->second,
                        .solver = row.solver,
                        .algorithm = {},
                        .time_ms = {},
                        .workspace_bytes = {},
                        .params = row.params});
  }
}

}  // namespace

MiopenConv miopen_conv_of(const PerfDbConfig& config) {
  if (const std::string defect = defect_of(config); !defect.empty()) fail(ErrorCode::invalid_input, "its {}", defect);
  const auto& number = config.numbers;
  if (number[kSpatialDim] != 2 && number[kSpatialDim] != 3)
    fail(ErrorCode::invalid_input, "its spatial_dim must be 2 or 3, got {}", number[kSpatialDim]);
  MiopenConv conv;
  conv.is_3d = number[kSpatialDim] == 3;
  check_range(config, conv.is_3d);
  conv.direction = config.direction == "F"   ? ConvDirection::forward
                   : config.direction == "B" ? ConvDirection::backward_data
                                             : ConvDirection::backward_weights;
  const bool is_forward = conv.direction == ConvDirection::forward;
  conv.n = number[kBatchSize];
  conv.c = is_forward ? number[kInChannels] : number[kOutChannels];
  conv.k = is_forward ? number[kOutChannels] : number[kInChannels];
  conv.bias = number[kBias];
  conv.groups = number[kGroupCount];
  conv.filter = extents_at(config, kFilter);
  conv.pad = extents_at(config, kPads);
  conv.stride = extents_at(config, kStrides);
  conv.dilation = extents_at(config, kDilations);
  Extents in = extents_at(config, kInExtents);
  if (!conv.is_3d) {  // The depths of a 2-D config say nothing.
    in[0] = conv.filter[0] = conv.stride[0] = conv.dilation[0] = 1;
    conv.pad[0] = 0;
  }
  conv.layout = config.layout;
  conv.dtype = config.data_type;
  if (const std::string why = why_no_problem(conv); !why.empty()) fail(ErrorCode::invalid_input, "{}", why);
  conv.input = is_forward ? in : input_of_gradient(conv, in);
  return conv;
}

MiopenShapes read_perf_db_shapes(const std::filesystem::path& path, bool with_results) {
  const PerfDb db = is_sqlite_file(path) ? read_perf_db(path) : read_perf_db_text(path);
  MiopenShapesBuilder builder(path, "perf-db");
  std::unordered_map<int64_t, size_t> shapes;  // By config.
  for (const PerfDbConfig& config : db.configs) {
    const size_t place = config.line > 0 ? config.line : static_cast<size_t>(config.id);
    try {
      shapes.emplace(config.id, builder.add(problem_of(miopen_conv_of(config)), place));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::invalid_input) throw;
      builder.leave_out(place, error.what());
    }
  }
  if (with_results) add_perf_db_results(builder, db, shapes);
  return builder.take();
}

}  // namespace attune
