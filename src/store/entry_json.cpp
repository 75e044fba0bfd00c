// SPDX-License-Identifier: MIT
#include "store/entry_json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "core/json_values.h"
#include "store/json_member.h"

namespace attune {
namespace {

using nlohmann::json;

[[noreturn]] void fail_value(std::string_view what, std::string_view text) {
  fail(ErrorCode::invalid_input, "{} of an entry is not known: '{}'", what, text);
}

bool is_utf8(std::string_view text) {
  for (;;) {
    const auto is_of_several = [](char one) { return (static_cast<unsigned char>(one) & 0x80) != 0; };
    text.remove_prefix(static_cast<size_t>(std::ranges::find_if(text, is_of_several) - text.begin()));
    if (text.empty()) return true;
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
}

/// JSON has no numbers that are not finite, so they are written as words.
void write_words(json& value) {
  if (value.is_structured()) {
    for (json& inner : value) write_words(inner);
  } else if (value.is_number_float()) {
    const auto number = value.get<double>();
    if (!std::isfinite(number)) value = std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf";
  }
}

json json_of(const std::vector<BinaryIdentity>& binaries) {
  json value = json::array();
  for (const BinaryIdentity& one : binaries) value.push_back(json::array({one.recipe, one.toolchain, one.sha256}));
  return value;
}
std::vector<BinaryIdentity> binaries_from(const json& value) {
  std::vector<BinaryIdentity> binaries;
  if (!value.contains("binaries")) return binaries;
  for (const json& one : value.at("binaries")) {
    binaries.push_back({one.at(0).get<std::string>(), one.at(1).get<std::string>(), one.at(2).get<std::string>()});
  }
  return binaries;
}

/// Entries without a report have no such member, like those of older versions.
void write(json& value, const std::vector<BinaryMetadata>& metadata) {
  if (!metadata.empty()) value["metadata"] = metadata;
}
std::vector<BinaryMetadata> metadata_from(const json& value) {
  return value.contains("metadata") ? value.at("metadata").get<std::vector<BinaryMetadata>>()
                                    : std::vector<BinaryMetadata>();
}

/// Entries of older versions have no such member.
void write_device_id(json& value, const std::string& id) {
  if (!id.empty()) value["device_id"] = id;
}
std::string device_id_from(const json& value) { return value.value("device_id", std::string()); }

json json_of(const Deadlines& deadlines) { return json::array({deadlines.load_ms, deadlines.run_ms}); }
Deadlines deadlines_from(const json& value) { return {int64_from(value.at(0)), int64_from(value.at(1))}; }

json json_of(const DroppedBest& best) {
  return {{"candidate", json_of(best.candidate)}, {"us", best.us}, {"workspace_bytes", best.workspace_bytes}};
}
DroppedBest dropped_best_from(const json& value) {
  return {candidate_from(value.at("candidate")), real_from(value.at("us")), uint64_from(value.at("workspace_bytes"))};
}

json json_of(const Incumbent& incumbent) {
  return {{"candidate", json_of(incumbent.candidate)}, {"us", incumbent.us}, {"row", incumbent.row}};
}
Incumbent incumbent_from(const json& value) {
  return {candidate_from(value.at("candidate")), real_from(value.at("us")), value.at("row").get<std::string>()};
}

json json_of(const BestDefault& best) {
  return {{"candidate", json_of(best.candidate)}, {"us", best.us}, {"ratio", best.ratio}, {"screened", best.screened}};
}
BestDefault best_default_from(const json& value) {
  return {candidate_from(value.at("candidate")), real_from(value.at("us")), real_from(value.at("ratio")),
          value.at("screened").get<bool>()};
}

/// The member of the time has a name of its own in each entry.
void write(json& value, const char* time_name, const Comparison& comparison) {
  value[time_name] = comparison.us;
  value["ratio"] = comparison.ratio;
  value["ratio_low"] = comparison.interval.low;
  value["ratio_high"] = comparison.interval.high;
  value["num_clean"] = comparison.num_clean;
}
Comparison comparison_from(const json& value, const char* time_name) {
  return {real_from(value.at(time_name)),
          real_from(value.at("ratio")),
          {real_from(value.at("ratio_low")), real_from(value.at("ratio_high"))},
          uint32_from(value.at("num_clean"))};
}

json json_of(const Finalist& finalist) {
  json value = {{"candidate", json_of(finalist.candidate)},
                {"errors", json_of(finalist.errors)},
                {"binaries", json_of(finalist.binaries)},
                {"confirmed", finalist.confirmed}};
  write(value, "us", finalist.comparison);
  write(value, finalist.metadata);
  if (finalist.number) value["number"] = *finalist.number;
  if (finalist.workspace_bytes > 0) value["workspace_bytes"] = finalist.workspace_bytes;
  return value;
}
Finalist finalist_from(const json& value) {
  return {candidate_from(value.at("candidate")),
          comparison_from(value, "us"),
          value.contains("errors") ? errors_from(value.at("errors")) : Errors{},
          binaries_from(value),
          value.value("confirmed", false),
          metadata_from(value),
          value.contains("number") ? std::optional(uint64_from(value.at("number"))) : std::nullopt,
          value.contains("workspace_bytes") ? uint64_from(value.at("workspace_bytes")) : 0};
}

json to_json(const Started& started) {
  return {{"type", "started"},
          {"problem", started.problem.key()},
          {"device", started.device},
          {"candidate", json_of(started.candidate)},
          {"versions", started.versions},
          {"fingerprint", started.fingerprint}};
}

json to_json(const Record& record) {
  json value = {{"type", "record"},
                {"problem", record.problem.key()},
                {"device", record.device},
                {"candidate", json_of(record.candidate)},
                {"versions", record.versions},
                {"protocol", json_of(record.protocol)},
                {"stage", name(record.stage)},
                {"dropped", record.dropped},
                {"outcome", json_of(record.outcome)},
                {"fingerprint", record.fingerprint},
                {"binaries", json_of(record.binaries)}};
  if (record.deadlines != Deadlines{}) value["deadlines"] = json_of(record.deadlines);
  write(value, record.metadata);
  write_device_id(value, record.device_id);
  return value;
}

json to_json(const Decision& decision) {
  json finalists = json::array(), tied = json::array(), dropped_bests = json::array();
  for (const Finalist& finalist : decision.finalists) finalists.push_back(json_of(finalist));
  for (const Candidate& candidate : decision.tied) tied.push_back(json_of(candidate));
  for (const DroppedBest& best : decision.dropped_bests) dropped_bests.push_back(json_of(best));
  json value = {{"type", "decision"},
                {"problem", decision.problem.key()},
                {"device", decision.device},
                {"protocol", json_of(decision.protocol)},
                {"winner", json_of(decision.winner)},
                {"baseline", json_of(decision.baseline)},
                {"versions", decision.versions},
                {"finalists", std::move(finalists)},
                {"tied", std::move(tied)},
                {"verdict", name(decision.verdict)},
                {"noisy", decision.noisy},
                {"incomplete", decision.incomplete},
                {"dropped_samples", decision.dropped_samples},
                {"errors", json_of(decision.errors)},
                {"baseline_us", decision.baseline_us},
                {"num_openings", decision.num_openings},
                {"pause_cut", decision.pause_cut},
                {"timing", name(decision.timing)},
                {"launches", decision.launches},
                {"fingerprint", decision.fingerprint},
                {"num_candidates", decision.num_candidates},
                {"seconds", decision.seconds},
                {"strategy", decision.strategy},
                {"dropped_bests", std::move(dropped_bests)}};
  write(value, "winner_us", decision.comparison);
  if (!decision.reason.empty()) value["reason"] = decision.reason;
  if (decision.bandwidth_gbs > 0) value["bandwidth_gbs"] = decision.bandwidth_gbs;
  if (decision.deadlines != Deadlines{}) value["deadlines"] = json_of(decision.deadlines);
  if (decision.incumbent) value["incumbent"] = json_of(*decision.incumbent);
  if (decision.best_default) value["best_untuned"] = json_of(*decision.best_default);
  write_device_id(value, decision.device_id);
  return value;
}

json to_json(const Pardon& pardon) {
  return {{"type", "pardoned"}, {"device", pardon.device}, {"candidate", json_of(pardon.candidate)}};
}

json to_json(const BanChange& change) {
  return {{"type", change.lifted ? "ban_lifted" : "ban"},
          {"device", change.ban.device},
          {"candidate", change.ban.candidate},
          {"problem", change.ban.problem},
          {"reason", change.ban.reason},
          {"by", change.by}};
}

json to_json(const RunBegin& run) {
  json value = {{"type", "run_begin"},
                {"command", run.command},
                {"version", run.version},
                {"host", run.host},
                {"pid", run.pid},
                {"device", run.device},
                {"fingerprint", run.fingerprint},
                {"description", run.description},
                {"environment", run.environment}};
  if (run.num_problems > 0) value["num_problems"] = run.num_problems;
  return value;
}

json to_json(const RunEnd& run) {
  return {{"type", "run_end"}, {"ending", run.ending}, {"exit_status", run.exit_status}, {"versions", run.versions}};
}

Problem problem_from(const json& value) { return Problem::parse(value.at("problem").get<std::string>()); }
std::string device_from(const json& value) { return value.at("device").get<std::string>(); }

Started started_from(const json& value) {
  return {problem_from(value), device_from(value), candidate_from(value.at("candidate")),
          value.at("versions").get<Versions>(), value.value("fingerprint", std::string())};
}

Record record_from(const json& value) {
  const auto stage_text = value.at("stage").get<std::string>();
  const auto stage = parse_stage(stage_text);
  if (!stage) fail_value("the stage", stage_text);
  return {problem_from(value),
          device_from(value),
          candidate_from(value.at("candidate")),
          value.at("versions").get<Versions>(),
          protocol_from(value.at("protocol")),
          *stage,
          value.at("dropped").get<bool>(),
          outcome_from(value.at("outcome")),
          value.value("fingerprint", std::string()),
          binaries_from(value),
          value.contains("deadlines") ? deadlines_from(value.at("deadlines")) : Deadlines{},
          metadata_from(value),
          device_id_from(value)};
}

/// Reads the members that entries of schema 1 do not have.
void read_schema_2(const json& value, Decision& decision) {
  decision.fingerprint = value.at("fingerprint").get<std::string>();
  decision.num_candidates = uint64_from(value.at("num_candidates"));
  decision.seconds = real_from(value.at("seconds"));
  decision.strategy = value.at("strategy").get<std::string>();
  for (const json& best : value.at("dropped_bests")) decision.dropped_bests.push_back(dropped_best_from(best));
  if (value.contains("deadlines")) decision.deadlines = deadlines_from(value.at("deadlines"));
  if (value.contains("incumbent")) decision.incumbent = incumbent_from(value.at("incumbent"));
  if (value.contains("best_untuned")) decision.best_default = best_default_from(value.at("best_untuned"));
}

RunBegin run_begin_from(const json& value) {
  return {value.at("command").get<std::vector<std::string>>(),
          value.at("version").get<std::string>(),
          value.at("host").get<std::string>(),
          int64_from(value.at("pid")),
          device_from(value),
          value.at("fingerprint").get<std::string>(),
          value.at("description").get<std::string>(),
          value.at("environment").get<std::map<std::string, std::string>>(),
          value.contains("num_problems") ? uint64_from(value.at("num_problems")) : 0};
}

RunEnd run_end_from(const json& value) {
  return {value.at("ending").get<std::string>(), int64_from(value.at("exit_status")),
          value.at("versions").get<Versions>()};
}

BanChange ban_change_from(const json& value, bool lifted) {
  const auto text = [&](const char* member) { return value.at(member).get<std::string>(); };
  return {{text("candidate"), text("device"), text("problem"), text("reason")}, text("by"), lifted};
}

Decision decision_from(const json& value) {
  Decision decision;
  decision.problem = problem_from(value);
  decision.device = device_from(value);
  decision.protocol = protocol_from(value.at("protocol"));
  decision.winner = candidate_from(value.at("winner"));
  decision.baseline = candidate_from(value.at("baseline"));
  decision.versions = value.at("versions").get<Versions>();
  for (const json& finalist : value.at("finalists")) decision.finalists.push_back(finalist_from(finalist));
  for (const json& candidate : value.at("tied")) decision.tied.push_back(candidate_from(candidate));
  const auto verdict = value.at("verdict").get<std::string>();
  const auto found = parse_verdict(verdict);
  if (!found) fail_value("the verdict", verdict);
  decision.verdict = *found;
  decision.noisy = value.at("noisy").get<bool>();
  decision.reason = value.value("reason", "");
  decision.incomplete = value.value("incomplete", false);
  decision.dropped_samples = value.value("dropped_samples", 0u);
  decision.errors = errors_from(value.at("errors"));
  decision.comparison = comparison_from(value, "winner_us");
  decision.baseline_us = real_from(value.at("baseline_us"));
  decision.num_openings = value.value("num_openings", 0u);
  decision.pause_cut = value.value("pause_cut", false);
  if (value.contains("bandwidth_gbs")) decision.bandwidth_gbs = real_from(value.at("bandwidth_gbs"));
  if (value.contains("timing")) decision.timing = timing_from(value.at("timing"));
  decision.launches = uint64_from(value.at("launches"));
  decision.device_id = device_id_from(value);
  if (value.contains("num_candidates")) read_schema_2(value, decision);
  return decision;
}

}  // namespace

std::string entry_to_json(const Entry& entry) {
  json value = std::visit([](const auto& one) { return to_json(one); }, entry);
  write_words(value);
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

Entry entry_from_json(std::string_view text) {
  try {
    const json value = json::parse(text);
    const auto type = value.at("type").get<std::string>();
    if (type == "started") return started_from(value);
    if (type == "record") return record_from(value);
    if (type == "decision") return decision_from(value);
    if (type == "run_begin") return run_begin_from(value);
    if (type == "run_end") return run_end_from(value);
    if (type == "pardoned") return Pardon{device_from(value), candidate_from(value.at("candidate"))};
    if (type == "ban" || type == "ban_lifted") return ban_change_from(value, type == "ban_lifted");
    fail_value("the type", type);
  } catch (const json::exception& error) {
    fail(ErrorCode::invalid_input, "an entry cannot be read: {}", error.what());
  }
}

Outcome outcome_from_json(std::string_view text) {
  if (!is_utf8(text)) fail(ErrorCode::invalid_input, "an entry is not UTF-8");
  const auto outcome = json_member(text, "outcome");  // Of all entries, records alone have it.
  if (!outcome) fail(ErrorCode::invalid_input, "an entry is no record, or a torn one");
  try {
    return outcome_from(json::parse(*outcome));
  } catch (const json::exception& error) {
    fail(ErrorCode::invalid_input, "an outcome in the journal cannot be read: {}", error.what());
  }
}

}  // namespace attune
