// SPDX-License-Identifier: MIT
// Grammar: MIOpen's src/conv/problem_description.cpp (ROCm/MIOpen; MIT), and the files of its src/kernels.
#include "formats/find_db/find_db_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "base/error.h"
#include "base/text.h"

namespace attune {
namespace {

constexpr size_t kMaxGroups = 20;
/// Numbers above it overflow in products.
constexpr int64_t kMaxKeyNumber = INT32_MAX;

struct KeyGroups {
  std::array<std::string_view, kMaxGroups> groups;
  size_t size = 0;
};

KeyGroups groups_of(std::string_view text) {
  KeyGroups found;
  for (;;) {
    const size_t end = std::min(text.find('-'), text.size());
    if (found.size < kMaxGroups) found.groups[found.size] = text.substr(0, end);
    ++found.size;
    if (end == text.size()) return found;
    text.remove_prefix(end + 1);
  }
}

int64_t key_number(std::string_view text, std::string_view group, int64_t min) {
  const auto number = parse_int(text);
  const bool is_plain = !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0;
  if (!number || !is_plain || *number < min || *number > kMaxKeyNumber)
    fail(ErrorCode::invalid_input, "the key's {} must be a whole number from {}, got '{}'", group, min, shown(text));
  return *number;
}

/// Reads `3x3`, one number of each axis.
void read_axes(std::string_view text, std::string_view group, int64_t min, bool is_3d, Extents& to) {
  std::string_view rest = text;
  for (size_t i = is_3d ? 0 : 1; i < to.size(); ++i) {
    const size_t end = std::min(rest.find('x'), rest.size());
    if ((end == rest.size()) != (i + 1 == to.size()))
      fail(ErrorCode::invalid_input, "the key's {} must be {} numbers joined by 'x', got '{}'", group, is_3d ? 3 : 2,
           shown(text));
    to[i] = key_number(rest.substr(0, end), group, min);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

void read_suffixes(std::string_view text, FindDbKey& key) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('_', 1), text.size());
    const std::string_view one = text.substr(0, end);
    if (key.num_units > 0)
      fail(ErrorCode::invalid_input, "the key's compute units must be its end, '{}' follows", shown(one));
    if (one.starts_with("_g") && key.casts.empty() && key.conv.groups == 1)
      key.conv.groups = key_number(one.substr(2), "groups", 2);
    else if (one.starts_with("_cu"))
      key.num_units = key_number(one.substr(3), "compute units", 1);
    else if (one.size() > 3 && (one.starts_with("_ci") || one.starts_with("_cw") || one.starts_with("_co")))
      key.casts += one;
    else
      fail(ErrorCode::invalid_input, "the key ends in '{}', only _gN, _ciT, _cwT, _coT and _cuN are known", shown(one));
    text.remove_prefix(end);
  }
}

std::string_view default_layout(bool is_3d) { return is_3d ? "NCDHW" : "NCHW"; }

/// One layout stands for all three only if it is the default.
std::string layout_of(const KeyGroups& all, size_t first, size_t num_layouts, bool is_3d) {
  const auto* const layouts = &all.groups[first];
  for (size_t i = 0; i < num_layouts; ++i) {
    if (layouts[i].empty()) fail(ErrorCode::invalid_input, "the key has an empty layout");
  }
  if (num_layouts == 1 && layouts[0] != default_layout(is_3d))
    fail(ErrorCode::invalid_input, "the key's layout must be {} or that of each tensor, such as {}, got '{}'",
         default_layout(is_3d), is_3d ? "NDHWC-NDHWC-NDHWC" : "NHWC-NHWC-NHWC", shown(layouts[0]));
  if (num_layouts == 1 || (layouts[0] == layouts[1] && layouts[1] == layouts[2])) return std::string(layouts[0]);
  return fmt::format("{}-{}-{}", layouts[0], layouts[1], layouts[2]);
}

ConvDirection direction_of(std::string_view text) {
  for (const ConvDirection one :
       {ConvDirection::forward, ConvDirection::backward_data, ConvDirection::backward_weights})
    if (text.size() == 1 && text.front() == letter_of(one)) return one;
  fail(ErrorCode::invalid_input, "the key's direction must be F, B or W, got '{}'", shown(text));
}

std::string axes_text(const Extents& extents, bool is_3d, char separator) {
  return is_3d ? fmt::format("{}{}{}{}{}", extents[0], separator, extents[1], separator, extents[2])
               : fmt::format("{}{}{}", extents[1], separator, extents[2]);
}

}  // namespace

FindDbKey FindDbKey::parse(std::string_view text) {
  const size_t base_end = std::min(text.find('_'), text.size());
  const KeyGroups all = groups_of(text.substr(0, base_end));
  FindDbKey key;
  MiopenConv& conv = key.conv;
  conv.is_3d = all.size > 3 && all.groups[3].find('x') == std::string_view::npos;
  const size_t num_axes = conv.is_3d ? 3 : 2, num_least = 11 + 2 * num_axes;
  if (all.size != num_least && all.size != num_least + 2)
    fail(ErrorCode::invalid_input, "a {} key has {} groups, or {} with the layout of each tensor, this one {}: '{}'",
         conv.is_3d ? "3-D" : "2-D", num_least, num_least + 2, all.size, shown(text));
  size_t at = 0;
  const auto number = [&](std::string_view group, int64_t min) { return key_number(all.groups[at++], group, min); };
  const auto extents = [&](std::string_view group, Extents& to) {
    for (size_t i = 3 - num_axes; i < 3; ++i) to[i] = number(group, 1);
  };
  conv.c = number("first channels", 1);
  extents("first extents", conv.input);
  read_axes(all.groups[at++], "filter", 1, conv.is_3d, conv.filter);
  conv.k = number("second channels", 1);
  extents("second extents", key.stated_output);
  conv.n = number("batch size", 1);
  read_axes(all.groups[at++], "pads", 0, conv.is_3d, conv.pad);
  read_axes(all.groups[at++], "strides", 1, conv.is_3d, conv.stride);
  read_axes(all.groups[at++], "dilations", 1, conv.is_3d, conv.dilation);
  conv.bias = number("bias", 0);
  conv.layout = layout_of(all, at, all.size - at - 2, conv.is_3d);
  conv.dtype = all.groups[all.size - 2];
  if (conv.dtype.empty()) fail(ErrorCode::invalid_input, "the key states no type");
  conv.direction = direction_of(all.groups[all.size - 1]);
  read_suffixes(text.substr(base_end), key);
  if (conv.direction != ConvDirection::forward) {
    std::swap(conv.c, conv.k);
    std::swap(conv.input, key.stated_output);
  }
  return key;
}

std::string FindDbKey::text() const {
  const bool is_forward = conv.direction == ConvDirection::forward;
  const Extents &first = is_forward ? conv.input : stated_output, &second = is_forward ? stated_output : conv.input;
  std::string layout = conv.layout;
  if (layout != default_layout(conv.is_3d) && layout.find('-') == std::string::npos)
    layout = fmt::format("{}-{}-{}", layout, layout, layout);
  return fmt::format("{}-{}-{}-{}-{}-{}-{}-{}-{}-{}-{}-{}-{}{}{}", is_forward ? conv.c : conv.k,
                     axes_text(first, conv.is_3d, '-'), axes_text(conv.filter, conv.is_3d, 'x'),
                     is_forward ? conv.k : conv.c, axes_text(second, conv.is_3d, '-'), conv.n,
                     axes_text(conv.pad, conv.is_3d, 'x'), axes_text(conv.stride, conv.is_3d, 'x'),
                     axes_text(conv.dilation, conv.is_3d, 'x'), conv.bias, layout, conv.dtype,
                     letter_of(conv.direction), conv.groups == 1 ? "" : fmt::format("_g{}", conv.groups), casts) +
         (num_units == 0 ? "" : fmt::format("_cu{}", num_units));
}

std::string why_untunable(const FindDbKey& key) {
  if (std::string why = why_no_problem(key.conv); !why.empty()) return why;
  if (!key.casts.empty()) return fmt::format("it casts its tensors, {}", key.casts);
  if (key.num_units > 0) return fmt::format("it is for {} compute units alone", key.num_units);
  const Extents output = output_of(key.conv);
  if (output == key.stated_output) return "";
  return fmt::format("it states the output {}, its input gives {}", axes_text(key.stated_output, key.conv.is_3d, 'x'),
                     std::ranges::find(output, 0) == output.end() ? axes_text(output, key.conv.is_3d, 'x') : "none");
}

std::optional<Problem> problem_of_find_db_key(std::string_view text) {
  const FindDbKey key = FindDbKey::parse(text);
  if (!why_untunable(key).empty()) return std::nullopt;
  return problem_of(key.conv);
}

std::string find_db_key_of(const Problem& problem) {
  FindDbKey key{.conv = miopen_conv_of(problem), .stated_output = {}, .casts = {}, .num_units = 0};
  key.stated_output = output_of(key.conv);
  return key.text();
}

}  // namespace attune
