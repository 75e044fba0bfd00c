// SPDX-License-Identifier: MIT
#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "core/space/search_space.h"

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

Json table_to_json(const ConfigTable& table) {
  Json columns = Json::array();
  for (const auto& column : table.columns()) {
    Json values = Json::array();
    for (const Value& value : column.values) values.push_back(value_to_json(value));
    columns.push_back({{"name", column.name}, {"values", std::move(values)}, {"codes", column.codes}});
  }
  return {{"rows", table.size()}, {"columns", std::move(columns)}};
}

/// A list or a number of another type, or a negative one, would be converted without a word.
uint32_t code_from_json(const Json& document) {
  if (!document.is_number_unsigned() || document.get<uint64_t>() > std::numeric_limits<uint32_t>::max())
    fail(ErrorCode::invalid_input, "a code of a list of configs must be a number from 0, got {}", document.dump());
  return document.get<uint32_t>();
}

ConfigTable table_from_json(const Json& document) {
  std::vector<ConfigTable::Column> columns;
  for (const Json& one : document.at("columns")) {
    ConfigTable::Column column{.name = one.at("name").get<std::string>(), .values = {}, .codes = {}};
    for (const Json& value : one.at("values")) column.values.push_back(value_from_json(value));
    for (const Json& code : one.at("codes")) column.codes.push_back(code_from_json(code));
    columns.push_back(std::move(column));
  }
  return {code_from_json(document.at("rows")), std::move(columns)};
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

Json rules_to_json(std::span<const Rule> rules) {
  Json list = Json::array();
  for (const Rule& rule : rules)
    list.push_back({{"id", rule.id}, {"expression", rule.expression}, {"reason", rule.reason}});
  return list;
}

std::vector<RuleSet> rule_sets_from_json(const Json& document) {
  std::vector<RuleSet> sets;
  for (const Json& one : document.value("rule_sets", Json::array()))
    sets.push_back({one.at("name").get<std::string>(), rules_from_json(one)});
  return sets;
}

Json meaning_to_json(const Meaning& meaning) {
  Json numbers = Json::array();
  for (const auto& [value, number] : meaning.numbers) numbers.push_back({value_to_json(value), number});
  return {{"parameter", meaning.parameter}, {"name", meaning.name}, {"numbers", std::move(numbers)}};
}

Meaning meaning_from_json(const Json& document) {
  Meaning meaning{document.at("parameter").get<std::string>(), document.at("name").get<std::string>(), {}};
  for (const Json& one : document.at("numbers")) {
    const Value number = value_from_json(one.at(1));
    if (!std::holds_alternative<int64_t>(number))
      fail(ErrorCode::invalid_input, "a meaning of a value must be a 64-bit integer, got {}", one.at(1).dump());
    meaning.numbers.emplace_back(value_from_json(one.at(0)), std::get<int64_t>(number));
  }
  return meaning;
}

SearchSpace with_features_of(const Json& document, const SearchSpace& space) {
  std::vector<Meaning> meanings;
  std::vector<Feature> features;
  for (const Json& one : document.value("meanings", Json::array())) meanings.push_back(meaning_from_json(one));
  for (const Json& one : document.value("features", Json::array()))
    features.push_back(
        {one.at("name").get<std::string>(), one.at("expression").get<std::string>(), one.value("is_estimate", false)});
  return space.with_features(std::move(meanings), std::move(features));
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
  if (is_listed()) document["listed"] = table_to_json(listed_);
  if (!rules_.empty()) document["rules"] = rules_to_json(rules_);
  for (const RuleSet& set : rule_sets_)
    document["rule_sets"].push_back({{"name", set.name}, {"rules", rules_to_json(set.rules)}});
  for (const Meaning& meaning : meanings_) document["meanings"].push_back(meaning_to_json(meaning));
  for (const Feature& feature : features_) {
    document["features"].push_back({{"name", feature.name}, {"expression", feature.expression}});
    if (feature.is_estimate) document["features"].back()["is_estimate"] = true;
  }
  return document.dump();
}

SearchSpace SearchSpace::from_json(std::string_view text) {
  try {
    const Json document = Json::parse(text);
    if (!document.contains("listed")) {
      std::vector<Parameter> parameters;
      for (const auto& parameter : document.at("parameters")) parameters.push_back(parameter_from_json(parameter));
      return with_features_of(document,
                              product(std::move(parameters), rules_from_json(document), rule_sets_from_json(document)));
    }
    auto space = listed(table_from_json(document.at("listed")));
    // A product of no parameters is one empty config, and keeps its rules.
    auto ruled = product({}, rules_from_json(document), rule_sets_from_json(document));
    space.rules_ = std::move(ruled.rules_);
    space.rule_sets_ = std::move(ruled.rule_sets_);
    return with_features_of(document, space);
  } catch (const Json::exception& error) {
    fail(ErrorCode::invalid_input, "expected a search space as JSON with 'parameters' or 'listed': {}", error.what());
  }
}

}  // namespace attune
