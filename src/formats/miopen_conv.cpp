// SPDX-License-Identifier: MIT
#include "formats/miopen_conv.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/error.h"

namespace attune {
namespace {

struct MiopenType {
  std::string_view name, dtype;
};
constexpr MiopenType kMiopenTypes[] = {{"FP32", "fp32"}, {"FP16", "fp16"}, {"BF16", "bf16"}, {"INT8", "int8"}};

/// The attributes of each axis: depth, height, width.
struct ConvAxisNames {
  const char *input, *filter, *pad, *stride, *dilation;
};
constexpr ConvAxisNames kConvAxisNames[] = {{"d", "z", "pad_d", "stride_d", "dilation_d"},
                                            {"h", "y", "pad_h", "stride_h", "dilation_h"},
                                            {"w", "x", "pad_w", "stride_w", "dilation_w"}};

}  // namespace

char letter_of(ConvDirection direction) noexcept { return "FBW"[static_cast<size_t>(direction)]; }

Extents output_of(const MiopenConv& conv) noexcept {
  Extents output{};
  for (size_t i = 0; i < output.size(); ++i)
    output[i] = conv_output_extent(conv.input[i], conv.filter[i], conv.pad[i], conv.stride[i], conv.dilation[i]);
  return output;
}

std::string why_no_problem(const MiopenConv& conv) {
  if (conv.bias != 0) return fmt::format("it has a bias, {}", conv.bias);
  if (std::ranges::none_of(kMiopenTypes, [&](const MiopenType& one) { return one.name == conv.dtype; }))
    return fmt::format("its type is {}", conv.dtype);
  if (conv.layout.find('-') != std::string::npos) return fmt::format("its tensors differ in layout, {}", conv.layout);
  const bool is_layout = std::ranges::any_of(kConvLayouts, [&](std::string_view one) {
    return one == conv.layout && (one.find('D') != std::string_view::npos) == conv.is_3d;
  });
  return is_layout ? "" : fmt::format("its layout is {}", conv.layout);
}

Problem problem_of(const MiopenConv& conv) {
  std::vector<std::pair<std::string, std::string>> attributes;
  attributes.reserve(24);
  const auto add = [&](const char* name, int64_t value) { attributes.emplace_back(name, std::to_string(value)); };
  const auto add_unless = [&](const char* name, int64_t value, int64_t default_value) {
    if (value != default_value) add(name, value);
  };
  attributes.emplace_back("direction", kConvDirections[static_cast<size_t>(conv.direction)]);
  add("n", conv.n);
  add("c", conv.c);
  add_unless("d", conv.input[0], 1);
  for (size_t i = 1; i < 3; ++i) add(kConvAxisNames[i].input, conv.input[i]);
  add("k", conv.k);
  add_unless("z", conv.filter[0], 1);
  for (size_t i = 1; i < 3; ++i) add(kConvAxisNames[i].filter, conv.filter[i]);
  for (size_t i = 0; i < 3; ++i) add_unless(kConvAxisNames[i].pad, conv.pad[i], 0);
  for (size_t i = 0; i < 3; ++i) add_unless(kConvAxisNames[i].stride, conv.stride[i], 1);
  for (size_t i = 0; i < 3; ++i) add_unless(kConvAxisNames[i].dilation, conv.dilation[i], 1);
  add_unless("groups", conv.groups, 1);
  const auto* const type =
      std::ranges::find_if(kMiopenTypes, [&](const MiopenType& one) { return one.name == conv.dtype; });
  ATTUNE_CHECK(type != std::end(kMiopenTypes), "a convolution of type {} has no problem", conv.dtype);
  attributes.emplace_back("dtype", type->dtype);
  if (conv.layout != "NCHW") attributes.emplace_back("layout", conv.layout);
  return {"conv", std::move(attributes)};
}

MiopenConv miopen_conv_of(const Problem& problem) {
  if (problem.integer_or("transposed", 0) != 0)
    fail(ErrorCode::invalid_input, "MIOpen's databases have no key for a transposed convolution: '{}'", problem.key());
  MiopenConv conv;
  const auto* const direction = std::ranges::find(kConvDirections, problem.text("direction"));
  const auto* const type =
      std::ranges::find_if(kMiopenTypes, [&](const MiopenType& one) { return one.dtype == problem.text("dtype"); });
  if (direction == std::end(kConvDirections) || type == std::end(kMiopenTypes))
    fail(ErrorCode::invalid_input, "MIOpen's databases have no key for this direction or type: '{}'", problem.key());
  conv.direction = static_cast<ConvDirection>(direction - kConvDirections.begin());
  conv.dtype = type->name;
  if (problem.has("layout")) conv.layout = problem.text("layout");
  conv.is_3d = conv.layout.find('D') != std::string::npos;
  conv.n = problem.integer("n");
  conv.c = problem.integer("c");
  conv.k = problem.integer("k");
  conv.groups = problem.integer_or("groups", 1);
  for (size_t i = conv.is_3d ? 0 : 1; i < 3; ++i) {
    const ConvAxisNames& names = kConvAxisNames[i];
    conv.input[i] = problem.integer_or(names.input, 1);
    conv.filter[i] = problem.integer_or(names.filter, 1);
    conv.pad[i] = problem.integer_or(names.pad, 0);
    conv.stride[i] = problem.integer_or(names.stride, 1);
    conv.dilation[i] = problem.integer_or(names.dilation, 1);
  }
  return conv;
}

}  // namespace attune
