// SPDX-License-Identifier: MIT
#include "formats/model_config/config_fields.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"

namespace attune {

using nlohmann::json;

ConfigFields::ConfigFields(const json& object, std::string file, std::string prefix)
    : object_(object), file_(std::move(file)), prefix_(std::move(prefix)) {}

const json* ConfigFields::find(std::string_view field) const {
  const auto found = object_.find(field);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void ConfigFields::refuse(std::string_view field, std::string_view wanted, std::string_view got) const {
  fail(ErrorCode::invalid_input, "{}: field '{}{}' {}, got '{}'", shown(file_, 500), shown(prefix_), shown(field),
       wanted, shown(got));
}

void ConfigFields::refuse_value(std::string_view field, std::string_view wanted, const json& value) const {
  // A list may be megabytes long, so only its kind is shown.
  if (value.is_structured()) refuse(field, wanted, value.is_array() ? "a list" : "an object");
  refuse(field, wanted, value.is_string() ? value.get_ref<const std::string&>() : value.dump());
}

bool ConfigFields::has(std::string_view field) const { return find(field) != nullptr; }

bool ConfigFields::is_list(std::string_view field) const {
  const json* value = find(field);
  return value && value->is_array();
}

std::optional<int64_t> ConfigFields::integer(std::string_view field, int64_t min, int64_t max) const {
  const json* value = find(field);
  if (!value) return std::nullopt;
  const auto number = value->is_number_integer() ? parse_int(value->dump()) : std::nullopt;  // nullopt beyond 2^63
  if (!number || *number < min || *number > max)
    refuse_value(field, fmt::format("expects a whole number from {} to {}", min, max), *value);
  return number;
}

int64_t ConfigFields::required(std::string_view field) const {
  if (const auto number = integer(field)) return *number;
  fail(ErrorCode::invalid_input, "{}: field '{}{}' is missing; is this the config.json of a language model?",
       shown(file_, 500), prefix_, field);
}

std::optional<std::string> ConfigFields::text(std::string_view field) const {
  const json* value = find(field);
  if (!value) return std::nullopt;
  if (!value->is_string()) refuse_value(field, "expects a string", *value);
  return value->get<std::string>();
}

bool ConfigFields::flag(std::string_view field) const {
  const json* value = find(field);
  if (!value) return false;
  if (!value->is_boolean()) refuse_value(field, "expects true or false", *value);
  return value->get<bool>();
}

std::vector<std::string> ConfigFields::texts(std::string_view field) const {
  std::vector<std::string> all;
  const json* value = find(field);
  if (!value) return all;
  if (!value->is_array()) refuse_value(field, "expects a list of strings", *value);
  for (const json& one : *value) {
    if (!one.is_string()) refuse_value(field, "expects a list of strings", one);
    all.push_back(one.get<std::string>());
  }
  return all;
}

std::vector<int64_t> ConfigFields::integers(std::string_view field) const {
  std::vector<int64_t> all;
  const json* value = find(field);
  if (!value) return all;
  if (!value->is_array()) refuse_value(field, "expects a list of whole numbers", *value);
  for (const json& one : *value) {
    const auto number = one.is_number_integer() ? parse_int(one.dump()) : std::nullopt;
    if (!number || *number < 0) refuse_value(field, "expects a list of whole numbers", one);
    all.push_back(*number);
  }
  return all;
}

std::optional<ConfigFields> ConfigFields::object(std::string_view field) const {
  const json* value = find(field);
  if (!value) return std::nullopt;
  if (!value->is_object()) refuse_value(field, "expects an object", *value);
  return ConfigFields(*value, file_, prefix_ + std::string(field) + ".");
}

std::vector<ConfigFields> ConfigFields::objects(std::string_view field) const {
  std::vector<ConfigFields> all;
  const json* value = find(field);
  if (!value) return all;
  if (!value->is_object()) refuse_value(field, "expects an object", *value);
  for (const auto& [name, one] : value->items()) {
    if (!one.is_object()) refuse_value(field, "expects an object of objects", one);
    all.emplace_back(one, file_, prefix_ + std::string(field) + "." + shown(name) + ".");
  }
  return all;
}

}  // namespace attune
