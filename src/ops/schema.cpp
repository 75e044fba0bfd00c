// SPDX-License-Identifier: MIT
#include "ops/schema.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace attune {
namespace {

using Attributes = std::vector<std::pair<std::string, std::string>>;

std::string listed(std::span<const std::string_view> names) { return join({names.begin(), names.end()}, ", "); }

/// Returns the value of an attribute in the form of keys.
std::string checked_value(const Problem& problem, const AttributeSpec& spec, const DeviceInfo& device) {
  const std::string& text = problem.text(spec.name);
  switch (spec.kind) {
    case ColumnKind::dtype: {
      const auto parsed = text == kDeviceFp8 ? device.fp8() : parse_dtype(text);
      if (parsed && std::find(spec.allowed.begin(), spec.allowed.end(), name(*parsed)) != spec.allowed.end())
        return std::string(name(*parsed));
      fail(ErrorCode::invalid_input, "{} supports {} of {}, got '{}'", problem.op(), spec.name, listed(spec.allowed),
           text);
    }
    case ColumnKind::flag:
      if (const auto value = parse_bool(text)) return *value ? "1" : "0";
      fail(ErrorCode::invalid_input, "attribute '{}' expects 0 or 1, got '{}'", spec.name, text);
    case ColumnKind::integer:
      if (const auto value = parse_int(text); value && *value >= spec.min && *value <= spec.max)
        return std::to_string(*value);
      fail(ErrorCode::invalid_input, "attribute '{}' expects a whole number from {} to {}, got '{}'", spec.name,
           spec.min, spec.max, text);
    case ColumnKind::choice:
      if (const auto number = choice_number(spec.allowed, text)) return std::string(spec.allowed[*number]);
      fail(ErrorCode::invalid_input, "attribute '{}' expects one of {}, got '{}'", spec.name, listed(spec.allowed),
           text);
    case ColumnKind::text:
      break;
  }
  return text;
}

std::string default_of(const Problem& problem, const AttributeSpec& spec, const Attributes& before,
                       const DeviceInfo& device) {
  if (spec.default_value.empty())
    fail(ErrorCode::invalid_input, "{} needs the attribute '{}'", problem.op(), spec.name);
  if (spec.is_device_fp8) return std::string(name(device.fp8()));
  if (spec.follows.empty()) return std::string(spec.default_value);
  const auto other = std::ranges::find(before, spec.follows, &Attributes::value_type::first);
  ATTUNE_CHECK(other != before.end(), "the default of '{}' is that of an attribute behind it", spec.name);
  return other->second;
}

/// The attributes in the order of a problem's text.
std::vector<const AttributeSpec*> in_text_order(const FamilySpec& family) {
  std::vector<const AttributeSpec*> ordered;
  for (const std::string_view name : family.text_order) ordered.push_back(find_column(family, name));
  for (const AttributeSpec& spec : family.key) {
    if (family.text_order.empty()) ordered.push_back(&spec);
  }
  return ordered;
}

}  // namespace

Problem normalised(const Problem& problem, const FamilySpec& family, const DeviceInfo& device) {
  for (const auto& [attribute, value] : problem.attributes()) {
    if (find_column(family, attribute) == nullptr)
      fail(ErrorCode::invalid_input, "{} has no attribute '{}'", problem.op(), attribute);
  }
  Attributes attributes;
  for (const AttributeSpec* spec : in_text_order(family)) {
    std::string value = problem.has(spec->name) ? checked_value(problem, *spec, device)
                                                : default_of(problem, *spec, attributes, device);
    if (spec->always || value != spec->default_value) attributes.emplace_back(spec->name, std::move(value));
  }
  return Problem(std::string(problem.op()), std::move(attributes));
}

}  // namespace attune
