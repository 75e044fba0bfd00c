// SPDX-License-Identifier: MIT
// What the document of the data says, held to what is answered.
#include "server/openapi.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "formats/csv/ban_file.h"
#include "store/fleet/fleet_store.h"
#include "testing/environment.h"
#include "testing/server/site_fixture.h"

namespace attune {
namespace {

using nlohmann::json;

/// Says why a value does not fit a schema; an empty text if it fits. It knows the keywords of OpenAPI 3.0 that the
/// document uses.
std::string mismatch(const json& schema, const json& value, const json& document, const std::string& place) {
  if (schema.contains("$ref"))
    return mismatch(document.at(json::json_pointer(schema["$ref"].get<std::string>().substr(1))), value, document,
                    place);
  if (value.is_null()) return schema.value("nullable", false) ? "" : place + " is null";
  for (const json& one : schema.value("allOf", json::array())) {
    if (auto why = mismatch(one, value, document, place); !why.empty()) return why;
  }
  const std::string type = schema.value("type", "");
  const bool is_of_type = type.empty() || type == value.type_name() || (type == "integer" && value.is_number_integer());
  if (!is_of_type) return place + " is no " + type;
  if (schema.contains("minimum") && value < schema["minimum"]) return place + " is too small";
  if (schema.contains("enum") && std::ranges::find(schema["enum"], value) == schema["enum"].end())
    return place + " has the value " + value.dump();
  for (const json& name : schema.value("required", json::array())) {
    if (!value.contains(name)) return place + " lacks " + name.dump();
  }
  const json properties = schema.value("properties", json::object());
  const json further = schema.value("additionalProperties", json(true));
  const json members = value.is_object() ? value : json::object();
  for (const auto& [name, member] : members.items()) {
    if (!properties.contains(name) && further == json(false)) return place + " has " + name;
    const json& one = properties.contains(name) ? properties[name] : further;
    if (one.is_boolean()) continue;
    if (auto why = mismatch(one, member, document, place + "." + name); !why.empty()) return why;
  }
  for (size_t i = 0; value.is_array() && i < value.size(); ++i) {
    if (auto why = mismatch(schema.at("items"), value[i], document, place + "[" + std::to_string(i) + "]");
        !why.empty())
      return why;
  }
  return "";
}

/// Makes a fleet's store with a session, a held job and an event.
void hold_a_job() {
  const auto store = open_fleet_store("");
  store->add_configurations({{.id = std::string(32, 'a'),
                              .op = "conv",
                              .key = "conv n=1 c=3",
                              .source = "test",
                              .added_at = {},
                              .tags = {"t"}}});
  store->set_solvers({{"a.conv", "1", "conv", true, "A"}});
  const int64_t session = store->begin_session(
      {.fingerprint = "f00", .device_json = R"({"gfx": "g", "cu_num": 2})", .versions = {}, .variables = {}}, "why");
  store->load_jobs({.session = session,
                    .tag = "t",
                    .steps = {FleetStep::find_compile, FleetStep::find_eval},
                    .only_applicable = false,
                    .reason = "why",
                    .solvers = {}});
  store->queue().claim({.session = session, .steps = {FleetStep::find_compile}, .agent = "n1/7/cpu:0"}, 1);
  store->add_event(session, {.at = {}, .agent = "n1/7/cpu:0", .kind = "device_lost", .text = "it fell \xff"});
}

TEST_F(SiteTest, EveryAnswerIsAsTheDocumentSays) {
  const TestEnvironment home("ATTUNE_HOME", folder_.path().string()), store("ATTUNE_STORE", "");
  hold_a_job();
  change_ban_file(folder_.path() / "overlay/banned.csv", [](std::vector<Ban>& bans) {
    bans = {{"fake.gemm", "", "", "no"}};
  });
  auto unproven = decision("a=2");
  unproven.problem = kOther;
  unproven.best_default.reset();
  unproven.comparison.ratio = 0;
  journal_->append(std::vector<Entry>{unproven, Pardon{"g/2", candidate("a=7")}, RunEnd{"done", 0, {}}});
  journal_->begin_run({});
  auto endless = record("a=8");
  endless.outcome.errors.max_relative = std::numeric_limits<double>::infinity();
  endless.outcome.detail = std::string(100'000, 'x');
  journal_->append(std::vector<Entry>{endless});
  const RowSummaries published{.rows = {{.family = "gemm_a16w16", .place = "t.csv:2", .problem = "p", .device = "g/2"}},
                               .notices = {"a row is skipped"}};
  site_ = std::make_unique<Site>(std::vector{file_}, AccessRule({"127.0.0.1", 80}, {}, std::nullopt),
                                 [&] { return std::make_shared<const RowSummaries>(published); });
  wait_for(2);
  const json document = data("openapi.json");
  for (const ApiRoute& route : Api::routes()) {
    const std::string path(route.path);
    const json& described = document["paths"][path]["get"];
    const json schema = {{"$ref", "#/components/schemas/" + std::string(route.answer)}};
    EXPECT_EQ(described["responses"]["200"]["content"]["application/json"]["schema"], schema);
    std::map<std::string, std::string> query;
    if (path == "/api/v1/problem") query["key"] = kProblem.key();
    const HttpAnswer answer = ask(path, query);
    ASSERT_EQ(answer.status, 200) << path << answer.body;
    const json body = json::parse(answer.body);
    EXPECT_EQ(mismatch(schema, body, document, path), "");
    for (const auto& [name, value] : body.items())
      EXPECT_FALSE(name != "notices" && value.is_array() && value.empty()) << path << " shows nothing of " << name;
    json more = body;
    more["more"] = 1;
    EXPECT_NE(mismatch(schema, more, document, path) == "", path != "/api/v1/openapi.json") << path;
    for (const json& parameter : described["parameters"]) {
      for (const char* bound : {"minimum", "maximum"}) {
        if (!parameter["schema"].contains(bound)) continue;
        auto asked = query;
        asked[parameter["name"]] = parameter["schema"][bound].dump();
        EXPECT_EQ(ask(path, asked).status, 200) << path << parameter;
      }
    }
  }
}

TEST(OpenApi, DescribesEveryRouteAndParameter) {
  const auto document = openapi_document(Api::routes());
  EXPECT_EQ(document["openapi"], "3.0.3");
  for (const ApiRoute& route : Api::routes())
    EXPECT_EQ(document["paths"][std::string(route.path)]["get"]["parameters"].size(), route.parameters.size());
}

}  // namespace
}  // namespace attune
