// SPDX-License-Identifier: MIT
#include "ops/attribute_setting.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "attune/dtype.h"
#include "base/error.h"
#include "base/text.h"

namespace attune {
namespace {

/// The key column that a setting means; null: the family has none.
const AttributeSpec* column_of(const FamilySpec& family, const AttributeSetting& setting) {
  if (const AttributeSpec* key = find_column(family, setting.attribute)) return key;
  if (setting.attribute != "dtype") return nullptr;
  const auto type = std::find_if(family.key.begin(), family.key.end(), [](const AttributeSpec& key) {
    return key.kind == ColumnKind::dtype && key.follows.empty();
  });
  return type == family.key.end() ? nullptr : &*type;
}

/// `, or name an op that has it with --op: fmoe`, for the ops of this process.
std::string ops_with(const AttributeSetting& setting) {
  std::vector<std::string> names;
  for (const Op* op : ops()) {
    if (find_column(op->family(), setting.attribute) != nullptr) names.emplace_back(op->name());
  }
  return names.empty() ? "" : fmt::format(", or name an op that has it with --op: {}", join(names, ", "));
}

std::string checked_value(const AttributeSpec& key, const AttributeSetting& setting) {
  const auto refuse = [&](std::string_view wanted) {
    fail(ErrorCode::invalid_input, "{} expects {}, got '{}'", setting.flag, wanted, shown(setting.value));
  };
  switch (key.kind) {
    case ColumnKind::dtype:
      if (setting.value == kDeviceFp8) return setting.value;
      if (const auto dtype = parse_dtype(setting.value)) return std::string(name(*dtype));
      refuse("a data type such as bf16, fp16 or fp32");
      break;
    case ColumnKind::flag:
      if (const auto flag = parse_bool(setting.value)) return *flag ? "1" : "0";
      refuse("0 or 1");
      break;
    case ColumnKind::integer:
      if (const auto number = parse_int(setting.value)) return std::to_string(*number);
      refuse("a whole number");
      break;
    case ColumnKind::choice:
      if (const auto number = choice_number(key.allowed, setting.value)) return std::string(key.allowed[*number]);
      refuse("one of " + join({key.allowed.begin(), key.allowed.end()}, ", "));
      break;
    case ColumnKind::text:
      if (setting.value.empty() || setting.value.find_first_of(" \t\r\n=,\"") != std::string::npos) refuse("one word");
      break;
  }
  return setting.value;
}

}  // namespace

std::string flag_of(const AttributeSpec& attribute) {
  const std::string name = attribute.column.size() == 1 ? to_lower(attribute.column) : std::string(attribute.name);
  if (name.size() > 1) return "--" + name;
  const bool is_taken = kCommandLetters.find(name) != std::string_view::npos;
  return std::string("-") + (is_taken ? static_cast<char>(std::toupper(static_cast<unsigned char>(name[0]))) : name[0]);
}

bool is_size(std::string_view attribute) {
  return std::any_of(ops().begin(), ops().end(), [&](const Op* op) {
    const AttributeSpec* spec = find_column(op->family(), attribute);
    return spec != nullptr && spec->default_value.empty();
  });
}

bool has_sizes(std::span<const AttributeSetting> settings) {
  return std::any_of(settings.begin(), settings.end(),
                     [](const AttributeSetting& one) { return is_size(one.attribute); });
}

const AttributeSetting* find_setting(std::span<const AttributeSetting> settings, std::string_view attribute) {
  const auto found = std::find_if(settings.rbegin(), settings.rend(),
                                  [&](const AttributeSetting& one) { return one.attribute == attribute; });
  return found == settings.rend() ? nullptr : &*found;
}

std::vector<std::pair<std::string, std::string>> values_of(const FamilySpec& family,
                                                           std::span<const AttributeSetting> settings) {
  std::vector<std::pair<std::string, std::string>> values;
  for (const AttributeSetting& setting : settings) {
    const AttributeSpec* key = column_of(family, setting);
    if (key == nullptr)
      fail(ErrorCode::invalid_input, "{} has no meaning for the family {}, omit it{}", setting.flag, family.op,
           ops_with(setting));
    std::erase_if(values, [&](const auto& one) { return one.first == key->name; });
    values.emplace_back(key->name, checked_value(*key, setting));
  }
  return values;
}

Problem problem_of_size(const FamilySpec& family, std::span<const AttributeSetting> settings,
                        const DeviceInfo& device) {
  const Problem problem(std::string(family.op), values_of(family, settings));
  const Op& op = op_of(problem);
  std::vector<std::string> sizes;
  bool has_all = true;
  for (const AttributeSpec& attribute : family.key) {
    if (!attribute.default_value.empty()) continue;
    sizes.push_back(flag_of(attribute));
    has_all = has_all && problem.has(attribute.name);
  }
  if (!has_all) {
    const std::string last = std::move(sizes.back());
    sizes.pop_back();
    if (sizes.empty()) fail(ErrorCode::invalid_input, "one size needs {}", last);
    fail(ErrorCode::invalid_input, "one size needs all of {} and {}", join(sizes, ", "), last);
  }
  return op.normalise(problem, device);
}

}  // namespace attune
