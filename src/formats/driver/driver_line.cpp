// SPDX-License-Identifier: MIT
// DriverFlags and defaults: MIOpen's driver/conv_driver.hpp (ROCm/MIOpen; MIT), which are facts.
#include "formats/driver/driver_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

#include "base/text.h"

namespace attune {
namespace {

constexpr std::string_view kDriver = "MIOpenDriver";

struct DriverCommand {
  std::string_view name, type;
};
constexpr DriverCommand kDriverCommands[] = {
    {"conv", "fp32"}, {"convfp16", "fp16"}, {"convbfp16", "bf16"}, {"convint8", "int8"}, {"convfp8", "fp8"}};

struct DriverFlag {
  char letter;
  std::string_view name;
  bool is_used = true;  ///< False: a flag of the driver's run, not of the problem.
};
constexpr DriverFlag kDriverFlags[] = {{'n', "batchsize"},
                                       {'c', "in_channels"},
                                       {'!', "in_d"},
                                       {'H', "in_h"},
                                       {'W', "in_w"},
                                       {'k', "out_channels"},
                                       {'@', "fil_d"},
                                       {'y', "fil_h"},
                                       {'x', "fil_w"},
                                       {'$', "pad_d"},
                                       {'p', "pad_h"},
                                       {'q', "pad_w"},
                                       {'#', "conv_stride_d"},
                                       {'u', "conv_stride_h"},
                                       {'v', "conv_stride_w"},
                                       {'^', "dilation_d"},
                                       {'l', "dilation_h"},
                                       {'j', "dilation_w"},
                                       {'%', "trans_output_pad_d"},
                                       {'Y', "trans_output_pad_h"},
                                       {'X', "trans_output_pad_w"},
                                       {'g', "group_count"},
                                       {'m', "mode"},
                                       {'z', "pad_mode"},
                                       {'F', "forw"},
                                       {'I', "in_layout"},
                                       {'O', "out_layout"},
                                       {'f', "fil_layout"},
                                       {'_', "spatial_dim"},
                                       {'Z', "tensor_vect"},
                                       {'U', "in_cast_type"},
                                       {'R', "wei_cast_type"},
                                       {'T', "out_cast_type"},
                                       {'L', "vector_length", false},
                                       {'t', "time", false},
                                       {'V', "verify", false},
                                       {'C', "verification_cache", false},
                                       {'i', "iter", false},
                                       {'w', "wall", false},
                                       {'s', "search", false},
                                       {'S', "solution", false},
                                       {'P', "printconv", false},
                                       {'o', "dump_output", false},
                                       {'d', "in_data", false},
                                       {'e', "weights", false},
                                       {'b', "bias", false},
                                       {'a', "in_bias", false},
                                       {'D', "dout_data", false},
                                       {'r', "pad_val", false},
                                       {'G', "gpualloc", false}};

/// The defect of a line; caught in parse_driver_line().
struct BadLine {
  std::string what;
};

template <typename... Values>
[[noreturn]] void refuse(fmt::format_string<Values...> format, Values&&... values) {
  throw BadLine{fmt::format(format, std::forward<Values>(values)...)};
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  const auto is_blank = [](char one) { return std::isspace(static_cast<unsigned char>(one)) != 0; };
  for (auto at = line.begin();;) {
    at = std::find_if_not(at, line.end(), is_blank);
    if (at == line.end()) return words;
    const auto end = std::find_if(at, line.end(), is_blank);
    words.emplace_back(at, end);
    at = end;
  }
}

const DriverFlag& flag_named(std::string_view word) {
  const auto* const found = std::find_if(std::begin(kDriverFlags), std::end(kDriverFlags), [&](const DriverFlag& flag) {
    return word.size() == 2 ? word[1] == flag.letter : word.starts_with("--") && word.substr(2) == flag.name;
  });
  if (word.size() < 2 || word[0] != '-' || found == std::end(kDriverFlags)) refuse("unknown flag '{}'", shown(word));
  return *found;
}

/// The flags of a line. The last of a name counts.
class DriverFlags {
 public:
  explicit DriverFlags(std::span<const std::string_view> words) {
    for (size_t i = 0; i < words.size(); ++i) {
      std::string_view word = words[i];
      std::optional<std::string_view> value;
      if (const auto equals = word.find('='); word.starts_with("--") && equals != std::string_view::npos) {
        value = word.substr(equals + 1);
        word = word.substr(0, equals);
      }
      const DriverFlag& flag = flag_named(word);
      if (!value) {
        // A line that was cut within `-t 1` still names its problem.
        if (i + 1 == words.size() && !flag.is_used) break;
        if (i + 1 == words.size()) refuse("the flag '{}' has no value", word);
        value = words[++i];
      }
      if (flag.is_used) values_.emplace_back(flag.name, *value);
    }
  }

  std::optional<std::string_view> text(std::string_view name) const {
    const auto found =
        std::find_if(values_.rbegin(), values_.rend(), [&](const auto& one) { return one.first == name; });
    return found == values_.rend() ? std::nullopt : std::optional(found->second);
  }
  int64_t number(std::string_view name, int64_t otherwise) const {
    const auto value = text(name);
    if (!value) return otherwise;
    // Some lines end in a full stop: `-F 1.`.
    const std::string_view digits = value->ends_with('.') ? value->substr(0, value->size() - 1) : *value;
    if (const auto number = parse_int(digits)) return *number;
    refuse("--{} expects a whole number, got '{}'", name, shown(*value));
  }

 private:
  std::vector<std::pair<std::string_view, std::string_view>> values_;
};

/// The names of an axis in flags and in a problem.
struct DriverAxis {
  std::string_view letter;
  std::string_view input, filter, pad, stride, dilation, output_pad;
  int64_t default_input, default_filter;
};
constexpr DriverAxis kDriverAxes[] = {
    {"d", "in_d", "fil_d", "pad_d", "conv_stride_d", "dilation_d", "trans_output_pad_d", 32, 3},
    {"h", "in_h", "fil_h", "pad_h", "conv_stride_h", "dilation_h", "trans_output_pad_h", 32, 3},
    {"w", "in_w", "fil_w", "pad_w", "conv_stride_w", "dilation_w", "trans_output_pad_w", 32, 3}};
constexpr std::string_view kFilterNames[] = {"z", "y", "x"};

int64_t divide_up(int64_t value, int64_t by) { return (value + by - 1) / by; }

/// The pad of `pad_mode same`, by which the output has ⌈input / stride⌉ elements.
int64_t same_pad(std::string_view letter, int64_t input, int64_t filter, int64_t stride, int64_t dilation) {
  if (stride < 1 || input < 1) return 0;
  const int64_t all =
      std::max<int64_t>(0, (divide_up(input, stride) - 1) * stride + dilation * (filter - 1) + 1 - input);
  const int64_t pad = all / 2;
  if ((input + 2 * pad - dilation * (filter - 1) - 1) / stride + 1 != divide_up(input, stride))
    refuse("--pad_mode same needs pads that differ by side along {}", letter);
  return pad;
}

std::vector<std::string_view> directions_of(const DriverFlags& flags, std::string_view prefix) {
  constexpr std::string_view kNames[] = {"fwd", "bwd_data", "bwd_weights"};
  constexpr std::string_view kPrefixes[] = {"ConvolutionForward", "ConvolutionBackwardData",
                                            "ConvolutionBackwardWeights"};
  const int64_t mask = flags.number("forw", 0);
  if (mask < 0 || mask > 7) refuse("--forw expects a mask of 1, 2 and 4, got {}", mask);
  std::vector<std::string_view> directions;
  for (size_t i = 0; i < 3; ++i) {
    const bool is_named = mask == 0 ? prefix.find(kPrefixes[i]) != std::string_view::npos : (mask >> i & 1) != 0;
    if (is_named) directions.push_back(kNames[i]);
  }
  if (directions.empty()) directions.assign(std::begin(kNames), std::end(kNames));
  return directions;
}

bool is_3d(const DriverFlags& flags) {
  const int64_t dimensions = flags.number("spatial_dim", 2);
  if (dimensions != 2 && dimensions != 3) refuse("--spatial_dim expects 2 or 3, got {}", dimensions);
  return dimensions == 3;
}

std::string_view driver_layout(const DriverFlags& flags, bool has_depth) {
  std::optional<std::string_view> layout;
  for (const char* name : {"in_layout", "fil_layout", "out_layout"}) {
    const auto one = flags.text(name);
    if (!one) continue;
    if (layout && *layout != *one) refuse("the layouts differ: '{}' and '{}'", shown(*layout), shown(*one));
    layout = one;
  }
  if (!layout) return has_depth ? "NCDHW" : "NCHW";
  constexpr std::string_view kPlane[] = {"NCHW", "NHWC"}, kVolume[] = {"NCDHW", "NDHWC"};
  const std::span<const std::string_view> fitting = has_depth ? std::span(kVolume) : std::span(kPlane);
  if (std::find(fitting.begin(), fitting.end(), *layout) == fitting.end())
    refuse("unsupported layout of {}: '{}'", has_depth ? "--spatial_dim 3" : "--spatial_dim 2", shown(*layout));
  return *layout;
}

/// Refuses flags without an attribute.
void refuse_extras(const DriverFlags& flags) {
  if (flags.number("tensor_vect", 0) != 0) refuse("vectorised tensors (--tensor_vect) are not supported");
  for (const char* name : {"in_cast_type", "wei_cast_type", "out_cast_type"}) {
    if (const auto type = flags.text(name); type && *type != "-1") refuse("casts (--{}) are not supported", name);
  }
}

using DriverAttributes = std::vector<std::pair<std::string, std::string>>;

/// The attributes behind the direction and n, in one order and without defaults, so that equal problems are equal.
DriverAttributes attributes_of(const DriverFlags& flags, std::string_view type) {
  DriverAttributes attributes;
  const auto add = [&](std::string_view name, int64_t value, int64_t default_value) {
    if (value != default_value) attributes.emplace_back(name, std::to_string(value));
  };
  constexpr int64_t kAlways = INT64_MIN;
  const bool has_depth = is_3d(flags);
  const std::span<const DriverAxis> axes(has_depth ? std::begin(kDriverAxes) : std::begin(kDriverAxes) + 1,
                                         std::end(kDriverAxes));
  const std::string_view mode = flags.text("mode").value_or("conv"), pads = flags.text("pad_mode").value_or("default");
  if (mode != "conv" && mode != "trans") refuse("--mode expects conv or trans, got '{}'", shown(mode));
  if (pads != "default" && pads != "same" && pads != "valid")
    refuse("--pad_mode expects default, same or valid, got '{}'", shown(pads));
  const auto input = [&](const DriverAxis& axis) { return flags.number(axis.input, axis.default_input); };
  const auto filter = [&](const DriverAxis& axis) { return flags.number(axis.filter, axis.default_filter); };
  const auto stride = [&](const DriverAxis& axis) { return flags.number(axis.stride, 1); };
  const auto dilation = [&](const DriverAxis& axis) { return flags.number(axis.dilation, 1); };
  const auto pad = [&](const DriverAxis& axis) {
    if (pads == "valid") return int64_t{0};
    if (pads == "same") return same_pad(axis.letter, input(axis), filter(axis), stride(axis), dilation(axis));
    return flags.number(axis.pad, 0);
  };
  add("c", flags.number("in_channels", 3), kAlways);
  for (const DriverAxis& axis : axes) add(axis.letter, input(axis), axis.letter == "d" ? 1 : kAlways);
  add("k", flags.number("out_channels", 32), kAlways);
  for (const DriverAxis& axis : axes)
    add(kFilterNames[&axis - std::begin(kDriverAxes)], filter(axis), axis.letter == "d" ? 1 : kAlways);
  for (const DriverAxis& axis : axes) add(axis.pad, pad(axis), 0);
  for (const DriverAxis& axis : axes) add(fmt::format("stride_{}", axis.letter), stride(axis), 1);
  for (const DriverAxis& axis : axes) add(axis.dilation, dilation(axis), 1);
  add("groups", flags.number("group_count", 1), 1);
  attributes.emplace_back("dtype", type);
  if (const std::string_view layout = driver_layout(flags, has_depth); layout != "NCHW")
    attributes.emplace_back("layout", layout);
  if (mode == "trans") {
    attributes.emplace_back("transposed", "1");
    for (const DriverAxis& axis : axes)
      add(fmt::format("output_pad_{}", axis.letter), flags.number(axis.output_pad, 0), 0);
  }
  return attributes;
}

std::vector<Problem> driver_problems(const DriverFlags& flags, std::string_view type, std::string_view prefix,
                                     const DriverOptions& options) {
  refuse_extras(flags);
  const auto directions = directions_of(flags, prefix);
  const DriverAttributes rest = attributes_of(flags, type);
  std::vector<int64_t> batches = options.batches;
  const int64_t stated = flags.number("batchsize", options.defaults == DriverDefaults::mituna ? 32 : 100);
  if (batches.empty()) batches.push_back(stated);
  std::vector<Problem> problems;
  for (const int64_t batch : batches) {
    for (const std::string_view direction : directions) {
      DriverAttributes all = {{"direction", std::string(direction)}, {"n", std::to_string(batch)}};
      all.insert(all.end(), rest.begin(), rest.end());
      problems.emplace_back("conv", std::move(all));
    }
  }
  return problems;
}

}  // namespace

std::string_view type_of_command(std::string_view command) {
  const auto* const found = std::find_if(std::begin(kDriverCommands), std::end(kDriverCommands),
                                         [&](const DriverCommand& one) { return one.name == command; });
  return found == std::end(kDriverCommands) ? std::string_view() : found->type;
}

DriverLine parse_driver_line(std::string_view line, const DriverOptions& options) {
  using Kind = DriverLine::Kind;
  try {
    const auto words = words_of(line);
    const auto driver = std::find_if(words.begin(), words.end(), [](std::string_view word) {
      return word == kDriver || word.ends_with(std::string("/") + std::string(kDriver));
    });
    if (driver == words.end()) refuse("there is no {} in it", kDriver);
    if (driver + 1 == words.end()) refuse("no operator follows {}", kDriver);
    const std::string_view command = driver[1];
    const std::string_view prefix = line.substr(0, static_cast<size_t>(driver->data() - line.data()));
    if (type_of_command(command).empty()) {
      if (command.starts_with("-")) refuse("no operator follows {}", kDriver);
      return {.kind = Kind::other_operator, .text = shown(command, 40), .problems = {}};
    }
    const DriverFlags flags(std::span<const std::string_view>(driver + 2, words.end()));
    const std::string_view type = type_of_command(options.command.empty() ? command : options.command);
    return {.kind = Kind::convolution, .text = {}, .problems = driver_problems(flags, type, prefix, options)};
  } catch (const BadLine& bad) {
    return {.kind = Kind::bad, .text = bad.what, .problems = {}};
  }
}

}  // namespace attune
