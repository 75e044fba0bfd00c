// SPDX-License-Identifier: MIT
#include "formats/driver/driver_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "base/error.h"
#include "ops/conv/conv_shape.h"

namespace attune {
namespace {

struct OperatorOfType {
  std::string_view type, name;
};
constexpr OperatorOfType kOperatorsOfTypes[] = {
    {"fp32", "conv"}, {"fp16", "convfp16"}, {"bf16", "convbfp16"}, {"int8", "convint8"}};

struct FlagOfAttribute {
  std::string_view flag, attribute;
  int64_t default_value;
};
constexpr FlagOfAttribute kPlaneFlags[] = {
    {"-n", "n", 1},        {"-c", "c", 1},          {"-H", "h", 1},          {"-W", "w", 1},     {"-k", "k", 1},
    {"-y", "y", 1},        {"-x", "x", 1},          {"-p", "pad_h", 0},      {"-q", "pad_w", 0}, {"-u", "stride_h", 1},
    {"-v", "stride_w", 1}, {"-l", "dilation_h", 1}, {"-j", "dilation_w", 1}, {"-g", "groups", 1}};
constexpr FlagOfAttribute kDepthFlags[] = {{"--in_d", "d", 1},
                                           {"--fil_d", "z", 1},
                                           {"--pad_d", "pad_d", 0},
                                           {"--conv_stride_d", "stride_d", 1},
                                           {"--dilation_d", "dilation_d", 1}};
constexpr FlagOfAttribute kTransposedFlags[] = {{"--trans_output_pad_h", "output_pad_h", 0},
                                                {"--trans_output_pad_w", "output_pad_w", 0},
                                                {"--trans_output_pad_d", "output_pad_d", 0}};

}  // namespace

std::string driver_line_of(const Problem& problem) {
  const auto* const type = std::ranges::find(kOperatorsOfTypes, problem.text("dtype"), &OperatorOfType::type);
  const auto* const direction = std::ranges::find(kConvDirections, problem.text("direction"));
  if (type == std::end(kOperatorsOfTypes) || direction == kConvDirections.end())
    fail(ErrorCode::invalid_input, "MIOpenDriver has no operator for this type or direction: '{}'", problem.key());
  const std::string layout = problem.has("layout") ? problem.text("layout") : "NCHW";
  const bool is_3d = layout.find('D') != std::string::npos, is_transposed = problem.integer_or("transposed", 0) != 0;
  std::string line = fmt::format("MIOpenDriver {}", type->name);
  const auto add = [&](std::span<const FlagOfAttribute> flags) {
    for (const auto& [flag, attribute, default_value] : flags)
      line += fmt::format(" {} {}", flag, problem.integer_or(attribute, default_value));
  };
  add(kPlaneFlags);
  if (is_3d) {
    line += " --spatial_dim 3";
    add(kDepthFlags);
  }
  line += fmt::format(" -m {}", is_transposed ? "trans" : "conv");
  if (is_transposed) add(std::span(kTransposedFlags).first(is_3d ? 3 : 2));
  line += fmt::format(" --in_layout {0} --fil_layout {0} --out_layout {0} -F {1}", layout,
                      1 << (direction - kConvDirections.begin()));
  return line;
}

}  // namespace attune
