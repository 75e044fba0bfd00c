// SPDX-License-Identifier: MIT
#include "server/openapi.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "server/answer_schemas.h"
#include "server/request_values.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

ordered_json parameter_json(const ApiParameter& parameter) {
  ordered_json schema = {{"type", parameter.type}};
  if (parameter.type == "integer") schema["minimum"] = parameter.name == "after" ? 0 : 1;
  if (parameter.type == "integer") schema["maximum"] = parameter.name == "limit" ? kMaxLimit : kMaxId;
  if (!parameter.values.empty()) schema["enum"] = parameter.values;
  return {{"name", parameter.name},
          {"in", "query"},
          {"required", parameter.is_required},
          {"description", parameter.help},
          {"schema", std::move(schema)}};
}

ordered_json answer_json(std::string_view text, std::string_view schema) {
  return {
      {"description", text},
      {"content", {{"application/json", {{"schema", {{"$ref", fmt::format("#/components/schemas/{}", schema)}}}}}}}};
}

}  // namespace

ordered_json openapi_document(std::span<const ApiRoute> routes) {
  ordered_json paths = ordered_json::object();
  for (const ApiRoute& route : routes) {
    ordered_json parameters = ordered_json::array();
    for (const ApiParameter& parameter : route.parameters) parameters.push_back(parameter_json(parameter));
    paths[std::string(route.path)]["get"] = {{"summary", route.help},
                                             {"parameters", std::move(parameters)},
                                             {"responses",
                                              {{"200", answer_json("the data", route.answer)},
                                               {"304", {{"description", "unchanged since the ETag that was sent"}}},
                                               {"400", answer_json("a parameter is wrong", "Error")},
                                               {"401", {{"description", "the token is missing or wrong"}}},
                                               {"404", answer_json("no such problem or journal", "Error")},
                                               {"421", {{"description", "the Host header names another server"}}},
                                               {"503", answer_json("the journal cannot be read now", "Error")}}}};
  }
  return {
      {"openapi", "3.0.3"},
      {"info",
       {{"title", "Attune"},
        {"version", "1"},
        {"description",
         "Read-only data of tuning journals: of the first one, and of each under /journals/{number} as well, as in "
         "/journals/2/api/v1/runs."}}},
      {"paths", std::move(paths)},
      {"components",
       {{"schemas", answer_schemas()}, {"securitySchemes", {{"token", {{"type", "http"}, {"scheme", "bearer"}}}}}}}};
}

}  // namespace attune
