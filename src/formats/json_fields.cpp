// SPDX-License-Identifier: MIT
#include "formats/json_fields.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"

namespace attune {

using nlohmann::json;

json parse_json(std::string_view content, const JsonSource& source, int max_depth) {
  const auto bounded = [&](int depth, json::parse_event_t, json&) {
    if (depth > max_depth)
      fail(ErrorCode::invalid_input, "{}: nested deeper than {} levels, this is not {}", shown(source.file, 500),
           max_depth, source.kind);
    return true;
  };
  try {
    return json::parse(content, bounded);
  } catch (const json::exception& error) {
    const auto* place = dynamic_cast<const json::parse_error*>(&error);
    fail(ErrorCode::invalid_input, "{}: not JSON, the fault is near byte {}, correct it or name {}",
         shown(source.file, 500), place ? place->byte : 0, source.kind);
  }
}

JsonFields::JsonFields(const json& object, JsonSource source, std::string prefix)
    : object_(object), source_(std::move(source)), prefix_(std::move(prefix)) {}

const json* JsonFields::find(std::string_view field) const {
  const auto found = object_.find(field);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void JsonFields::refuse(std::string_view field, std::string_view wanted, std::string_view got) const {
  fail(ErrorCode::invalid_input, "{}: field '{}{}' {}, got '{}'", shown(source_.file, 500), shown(prefix_),
       shown(field), wanted, shown(got));
}

void JsonFields::refuse_value(std::string_view field, std::string_view wanted, const json& value) const {
  // A list may be megabytes long, so only its kind is shown.
  if (value.is_structured()) refuse(field, wanted, value.is_array() ? "a list" : "an object");
  refuse(field, wanted, value.is_string() ? value.get_ref<const std::string&>() : value.dump());
}

bool JsonFields::has(std::string_view field) const { return find(field) != nullptr; }

bool JsonFields::is_list(std::string_view field) const {
  const json* value = find(field);
  return value && value->is_array();
}

std::optional<int64_t> JsonFields::integer(std::string_view field, int64_t min, int64_t max) const {
  const json* value = find(field);
  if (!value) return std::nullopt;
  const auto number = value->is_number_integer() ? parse_int(value->dump()) : std::nullopt;  // nullopt beyond 2^63
  if (!number || *number < min || *number > max)
    refuse_value(field, fmt::format("expects a whole number from {} to {}", min, max), *value);
  return number;
}

int64_t JsonFields::required(std::string_view field, int64_t min, int64_t max) const {
  if (const auto number = integer(field, min, max)) return *number;
  refuse_absence(field);
}

void JsonFields::refuse_absence(std::string_view field) const {
  fail(ErrorCode::invalid_input, "{}: field '{}{}' is missing; is this {}?", shown(source_.file, 500), shown(prefix_),
       field, source_.kind);
}

std::optional<double> JsonFields::real(std::string_view field) const {
  const json* value = find(field);
  if (!value) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : -1;
  if (!std::isfinite(number) || number < 0) refuse_value(field, "expects a number that is not negative", *value);
  return number;
}

std::vector<std::string> JsonFields::names() const {
  std::vector<std::string> all;
  for (const auto& [name, value] : object_.items()) all.push_back(name);
  return all;
}

std::optional<std::string> JsonFields::text(std::string_view field) const {
  const json* value = find(field);
  if (!value) return std::nullopt;
  if (!value->is_string()) refuse_value(field, "expects a string", *value);
  return value->get<std::string>();
}

std::string JsonFields::required_text(std::string_view field) const {
  if (auto value = text(field)) return *std::move(value);
  refuse_absence(field);
}

bool JsonFields::flag(std::string_view field) const {
  const json* value = find(field);
  if (!value) return false;
  if (!value->is_boolean()) refuse_value(field, "expects true or false", *value);
  return value->get<bool>();
}

std::vector<std::string> JsonFields::texts(std::string_view field) const {
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

std::vector<int64_t> JsonFields::integers(std::string_view field) const {
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

std::optional<JsonFields> JsonFields::object(std::string_view field) const {
  const json* value = find(field);
  if (!value) return std::nullopt;
  if (!value->is_object()) refuse_value(field, "expects an object", *value);
  return JsonFields(*value, source_, prefix_ + std::string(field) + ".");
}

std::vector<JsonFields> JsonFields::objects(std::string_view field) const {
  std::vector<JsonFields> all;
  const json* value = find(field);
  if (!value) return all;
  if (!value->is_object()) refuse_value(field, "expects an object", *value);
  for (const auto& [name, one] : value->items()) {
    if (!one.is_object()) refuse_value(field, "expects an object of objects", one);
    all.emplace_back(one, source_, prefix_ + std::string(field) + "." + shown(name) + ".");
  }
  return all;
}

}  // namespace attune
