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

Value value_from_json(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  const bool fits = !json.is_number_unsigned() || json.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()};
  if (!json.is_number_integer() || !fits) {
    fail(ErrorCode::invalid_input, "a value of a search space must be a text or a 64-bit integer, got {}", json.dump());
  }
  return json.get<int64_t>();
}

Parameter parameter_from_json(const Json& json) {
  Parameter parameter;
  parameter.name = json.at("name").get<std::string>();
  for (const auto& value : json.at("values")) parameter.values.push_back(value_from_json(value));
  const auto binding = json.value("binding", "launch_time");
  if (binding != "launch_time" && binding != "compile_time") {
    fail(ErrorCode::invalid_input, "a parameter must be bound at compile_time or launch_time, got '{}'", binding);
  }
  parameter.binding = binding == "compile_time" ? Binding::compile_time : Binding::launch_time;
  parameter.active_if = json.value("active_if", "");
  if (json.contains("part")) parameter.part = json.at("part").get<int>();
  return parameter;
}

Config config_from_json(const Json& json) {
  std::vector<std::pair<std::string, Value>> values;
  for (const auto& [name, value] : json.items()) values.emplace_back(name, value_from_json(value));
  return Config(std::move(values));
}

std::vector<Rule> rules_from_json(const Json& json) {
  std::vector<Rule> rules;
  if (!json.contains("rules")) return rules;
  for (const auto& rule : json.at("rules")) {
    rules.push_back(
        {rule.at("id").get<std::string>(), rule.at("expression").get<std::string>(), rule.value("reason", "")});
  }
  return rules;
}

}  // namespace

std::string SearchSpace::to_json() const {
  Json json = Json::object();
  for (const auto& parameter : parameters_) {
    Json entry = {{"name", parameter.name}, {"values", Json::array()}};
    for (const auto& value : parameter.values) entry["values"].push_back(value_to_json(value));
    entry["binding"] = parameter.binding == Binding::compile_time ? "compile_time" : "launch_time";
    if (!parameter.active_if.empty()) entry["active_if"] = parameter.active_if;
    if (parameter.part) entry["part"] = *parameter.part;
    json["parameters"].push_back(std::move(entry));
  }
  if (is_listed()) json["listed"] = Json::array();
  for (const auto& config : listed_) {
    Json row = Json::object();
    for (const auto& [name, value] : config.values()) row[name] = value_to_json(value);
    json["listed"].push_back(std::move(row));
  }
  for (const auto& rule : rules_) {
    json["rules"].push_back({{"id", rule.id}, {"expression", rule.expression}, {"reason", rule.reason}});
  }
  return json.dump();
}

SearchSpace SearchSpace::from_json(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (!json.contains("listed")) {
      std::vector<Parameter> parameters;
      for (const auto& parameter : json.at("parameters")) parameters.push_back(parameter_from_json(parameter));
      return product(std::move(parameters), rules_from_json(json));
    }
    std::vector<Config> configs;
    for (const auto& config : json.at("listed")) configs.push_back(config_from_json(config));
    auto space = listed(std::move(configs));
    // A product of no parameters is one empty config, and keeps its rules.
    if (auto rules = rules_from_json(json); !rules.empty()) {
      auto ruled = product({}, std::move(rules));
      space.rules_ = std::move(ruled.rules_);
    }
    return space;
  } catch (const Json::exception& error) {
    fail(ErrorCode::invalid_input, "expected a search space as JSON with 'parameters' or 'listed': {}", error.what());
  }
}

}  // namespace attune
