// SPDX-License-Identifier: MIT
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "core/search_space.h"

namespace attune {
namespace {

using Json = nlohmann::json;

Json value_to_json(const Value& value) {
  return std::visit([](const auto& held) { return Json(held); }, value);
}

Value value_from_json(const Json& document) {
  if (document.is_string()) return document.get<std::string>();
  const bool fits =
      !document.is_number_unsigned() || document.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()};
  // A decimal is a text with the digits of the document, which dump() keeps: 0.5 is `0.5`.
  if (document.is_number_float() && number_of(document.dump())) return document.dump();
  if (!document.is_number_integer() || !fits) {
    fail(ErrorCode::invalid_input, "a value of a search space must be a text, a 64-bit integer or a decimal, got {}",
         document.dump());
  }
  return document.get<int64_t>();
}

Parameter parameter_from_json(const Json& document) {
  Parameter parameter;
  parameter.name = document.at("name").get<std::string>();
  for (const auto& value : document.at("values")) parameter.values.push_back(value_from_json(value));
  const auto binding = document.value("binding", "launch_time");
  if (binding != "launch_time" && binding != "compile_time") {
    fail(ErrorCode::invalid_input, "a parameter must be bound at compile_time or launch_time, got '{}'", binding);
  }
  parameter.binding = binding == "compile_time" ? Binding::compile_time : Binding::launch_time;
  parameter.active_if = document.value("active_if", "");
  if (document.contains("part")) parameter.part = document.at("part").get<int>();
  return parameter;
}

Config config_from_json(const Json& document) {
  std::vector<std::pair<std::string, Value>> values;
  for (const auto& [name, value] : document.items()) values.emplace_back(name, value_from_json(value));
  return Config(std::move(values));
}

std::vector<Rule> rules_from_json(const Json& document) {
  std::vector<Rule> rules;
  if (!document.contains("rules")) return rules;
  for (const auto& rule : document.at("rules")) {
    rules.push_back(
        {rule.at("id").get<std::string>(), rule.at("expression").get<std::string>(), rule.value("reason", "")});
  }
  return rules;
}

}  // namespace

std::string SearchSpace::to_json() const {
  Json document = Json::object();
  for (const auto& parameter : parameters_) {
    Json entry = {{"name", parameter.name}, {"values", Json::array()}};
    for (const auto& value : parameter.values) entry["values"].push_back(value_to_json(value));
    entry["binding"] = parameter.binding == Binding::compile_time ? "compile_time" : "launch_time";
    if (!parameter.active_if.empty()) entry["active_if"] = parameter.active_if;
    if (parameter.part) entry["part"] = *parameter.part;
    document["parameters"].push_back(std::move(entry));
  }
  if (is_listed()) document["listed"] = Json::array();
  for (const auto& config : listed_) {
    Json row = Json::object();
    for (const auto& [name, value] : config.values()) row[name] = value_to_json(value);
    document["listed"].push_back(std::move(row));
  }
  for (const auto& rule : rules_) {
    document["rules"].push_back({{"id", rule.id}, {"expression", rule.expression}, {"reason", rule.reason}});
  }
  return document.dump();
}

SearchSpace SearchSpace::from_json(std::string_view text) {
  try {
    const Json document = Json::parse(text);
    if (!document.contains("listed")) {
      std::vector<Parameter> parameters;
      for (const auto& parameter : document.at("parameters")) parameters.push_back(parameter_from_json(parameter));
      return product(std::move(parameters), rules_from_json(document));
    }
    std::vector<Config> configs;
    for (const auto& config : document.at("listed")) configs.push_back(config_from_json(config));
    auto space = listed(std::move(configs));
    // A product of no parameters is one empty config, and keeps its rules.
    if (auto rules = rules_from_json(document); !rules.empty()) {
      auto ruled = product({}, std::move(rules));
      space.rules_ = std::move(ruled.rules_);
    }
    return space;
  } catch (const Json::exception& error) {
    fail(ErrorCode::invalid_input, "expected a search space as JSON with 'parameters' or 'listed': {}", error.what());
  }
}

}  // namespace attune
