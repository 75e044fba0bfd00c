// SPDX-License-Identifier: MIT
#include "server/answer_schemas.h"

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/record.h"

namespace attune {
namespace {

using nlohmann::ordered_json;
using Members = std::initializer_list<std::pair<const char*, ordered_json>>;

ordered_json nullable(ordered_json schema) {
  schema["nullable"] = true;
  return schema;
}

ordered_json text() { return {{"type", "string"}}; }
ordered_json flag() { return {{"type", "boolean"}}; }
ordered_json count() { return {{"type", "integer"}, {"minimum", 0}}; }
/// A measured number: JSON has none that is not finite, which is null.
ordered_json number() { return nullable({{"type", "number"}}); }
/// A number that is null where it is unknown: a time in ms since 1970, the `next` of a last page.
ordered_json count_or_null() { return nullable(count()); }

ordered_json the(const char* name) { return {{"$ref", std::string("#/components/schemas/") + name}}; }
ordered_json the_or_null(const char* name) { return nullable({{"allOf", ordered_json::array({the(name)})}}); }
ordered_json list(ordered_json items) { return {{"type", "array"}, {"items", std::move(items)}}; }
ordered_json by_name(ordered_json values) { return {{"type", "object"}, {"additionalProperties", std::move(values)}}; }
ordered_json one_of(std::vector<std::string_view> values) { return {{"type", "string"}, {"enum", std::move(values)}}; }

/// An object with these members, all of which are there but for those of `optional`.
ordered_json object(Members members, Members optional = {}) {
  ordered_json properties = ordered_json::object(), required = ordered_json::array();
  for (const auto& [name, schema] : members) {
    properties[name] = schema;
    required.push_back(name);
  }
  for (const auto& [name, schema] : optional) properties[name] = schema;
  return {{"type", "object"},
          {"properties", std::move(properties)},
          {"required", std::move(required)},
          {"additionalProperties", false}};
}

ordered_json verdict() { return one_of({kVerdictNames.begin(), kVerdictNames.end()}); }
ordered_json status() {
  return one_of({"ok", "unsupported", "compile_failed", "load_failed", "launch_failed", "out_of_memory", "wrong_result",
                 "implausible_time", "timed_out", "crashed", "device_lost", "cancelled"});
}

ordered_json run() {
  return object({{"run", count()},
                 {"at_ms", count_or_null()},
                 {"end_ms", count_or_null()},
                 {"state", text()},
                 {"exit_status", nullable({{"type", "integer"}})},
                 {"command", text()},
                 {"version", text()},
                 {"host", text()},
                 {"device", text()},
                 {"description", text()},
                 {"decisions", count()},
                 {"faster", count()},
                 {"geometric_mean", number()},
                 {"records", count()},
                 {"failures", by_name(count())},
                 {"problems", count_or_null()},
                 {"last_ms", count_or_null()},
                 {"candidates_a_minute", number()},
                 {"left_s", number()}});
}

ordered_json result() {
  return object({{"id", count()},
                 {"at_ms", count_or_null()},
                 {"run", count()},
                 {"problem", text()},
                 {"device", text()},
                 {"winner", text()},
                 {"verdict", verdict()},
                 {"require", text()},
                 {"us", number()},
                 {"default_us", number()},
                 {"speedup", number()},
                 {"low", number()},
                 {"high", number()},
                 {"seconds", number()},
                 {"candidates", count()},
                 {"noisy", flag()},
                 {"incomplete", flag()}});
}

ordered_json fleet_session() {
  return object({{"session", count()},
                 {"created_ms", count()},
                 {"state", one_of({"open", "closed", "aborted"})},
                 {"reason", text()},
                 {"ticket", text()},
                 {"image", text()},
                 {"device", text()},
                 {"jobs", count()},
                 {"left", count()},
                 {"steps", list(object({{"step", text()},
                                        {"queued", count()},
                                        {"leased", count()},
                                        {"done", count()},
                                        {"failed", count()},
                                        {"excluded", count()}}))},
                 {"failures", by_name(count())}});
}

ordered_json finalist() {
  return object({{"candidate", text()}, {"winner", flag()}, {"us", number()}}, {{"speedup", number()},
                                                                                {"interval", nullable(list(number()))},
                                                                                {"clean_pairs", count()},
                                                                                {"metadata", list(by_name(text()))}});
}

ordered_json decision() {
  return object({{"id", count()},          {"at_ms", count()},
                 {"run", count()},         {"problem", text()},
                 {"device", text()},       {"device_id", text()},
                 {"winner", text()},       {"default", nullable(text())},
                 {"default_us", number()}, {"us", number()},
                 {"verdict", verdict()},   {"noisy", flag()},
                 {"incomplete", flag()},   {"openings", count()},
                 {"pause_cut", flag()},    {"timing", text()},
                 {"err_ratio", number()},  {"max_relative_error", number()},
                 {"tied", list(text())},   {"finalists", list(the("Finalist"))},
                 {"launches", count()},    {"versions", by_name(text())},
                 {"protocol", text()}},
                {{"speedup", number()},
                 {"interval", nullable(list(number()))},
                 {"clean_pairs", count()},
                 {"reason", text()},
                 {"best_untuned",
                  object({{"candidate", text()}, {"us", number()}, {"speedup", number()}, {"screened", flag()}})}});
}

ordered_json candidate() {
  return object(
      {{"candidate", text()},
       {"solver", text()},
       {"device", text()},
       {"ending", one_of({"won", "failed", "lost the final", "slower in the race", "left the race", "verified"})},
       {"stage", one_of({"verify", "screen", "final"})},
       {"status", status()},
       {"detail", text()},
       {"records", count()},
       {"err_ratio", number()},
       {"max_relative_error", number()}},
      {{"us", number()},
       {"spread_us", number()},
       {"noisy", flag()},
       {"timing", text()},
       {"samples", list(list(number()))},
       {"num_samples", count()}});
}

ordered_json row() {
  return object({{"family", text()},
                 {"place", text()},
                 {"problem", text()},
                 {"device", text()},
                 {"kernel", text()},
                 {"require", text()},
                 {"us", number()},
                 {"taken", flag()},
                 {"use", text()}});
}

ordered_json agreement() { return one_of({"same", "other", "undecided", "unpublished"}); }

}  // namespace

ordered_json answer_schemas() {
  return {
      {"State", object({{"newest_id", count()}, {"complete", flag()}, {"generation", count()}, {"failure", text()}})},
      {"Runs", object({{"runs", list(the("Run"))}, {"complete", flag()}, {"next", count_or_null()}})},
      {"Run", run()},
      {"Results",
       object({{"results", list(the("Result"))}, {"found", count()}, {"complete", flag()}, {"next", count_or_null()}})},
      {"Result", result()},
      {"Story", object({{"problem", text()},
                        {"decisions", list(the("Decision"))},
                        {"candidates", list(the("Candidate"))},
                        {"num_damaged", count()}})},
      {"Decision", decision()},
      {"Finalist", finalist()},
      {"Candidate", candidate()},
      {"Devices", object({{"devices", list(object({{"device", text()},
                                                   {"fingerprint", text()},
                                                   {"host", text()},
                                                   {"description", text()},
                                                   {"runs", count()},
                                                   {"last_ms", count_or_null()}}))}})},
      {"Tables",
       object({{"tables",
                list(object({{"state", agreement()}, {"row", the_or_null("Row")}, {"result", the_or_null("Result")}}))},
               {"found", count()},
               {"counts",
                object({{"same", count()}, {"other", count()}, {"undecided", count()}, {"unpublished", count()}})},
               {"notices", list(text())},
               {"complete", flag()},
               {"next", count_or_null()}})},
      {"Row", row()},
      {"Quarantine", object({{"quarantine", list(object({{"id", count()},
                                                         {"at_ms", count_or_null()},
                                                         {"run", count()},
                                                         {"problem", text()},
                                                         {"device", text()},
                                                         {"candidate", text()},
                                                         {"status", one_of({"crashed", "timed_out"})},
                                                         {"detail", text()}}))},
                             {"complete", flag()},
                             {"next", count_or_null()}})},
      {"Bans", object({{"bans", list(object({{"candidate", text()},
                                             {"device", text()},
                                             {"problem", text()},
                                             {"reason", text()},
                                             {"by", text()},
                                             {"at_ms", count_or_null()}}))},
                       {"notices", list(text())},
                       {"next", count_or_null()}})},
      {"Entries",
       object({{"entries",
                list({{"type", "object"},
                      {"properties", {{"id", count()}, {"run", count()}, {"at", nullable(text())}, {"cut", count()}}},
                      {"required", {"id", "run"}}})},
               {"next", count_or_null()}})},
      {"Fleet", object({{"store", text()},
                        {"failure", text()},
                        {"sessions", list(fleet_session())},
                        {"held", list(object({{"agent", text()},
                                              {"session", count()},
                                              {"job", count()},
                                              {"step", text()},
                                              {"solver", text()},
                                              {"problem", text()},
                                              {"since_ms", count()},
                                              {"lease_left_s", number()}}))},
                        {"events", list(object({{"id", count()},
                                                {"at_ms", count()},
                                                {"session", count()},
                                                {"job", count()},
                                                {"agent", text()},
                                                {"kind", text()},
                                                {"text", text()}}))}})},
      {"Journals", object({{"journals", list(object({{"number", count()}, {"name", text()}, {"pages", text()}}))}})},
      {"Document", {{"type", "object"}, {"required", {"openapi", "paths", "components"}}}},
      {"Error", object({{"error", text()}})}};
}

}  // namespace attune
