// SPDX-License-Identifier: MIT
#include "store/entry_json.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"

namespace attune {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 3> kTimingNames = {"graph", "events", "host"};
constexpr std::array<std::string_view, 2> kCacheNames = {"cold", "warm"};

[[noreturn]] void fail_value(std::string_view what, std::string_view text) {
  fail(ErrorCode::invalid_input, "{} of an entry is not known: '{}'", what, text);
}

/// JSON has no word for what is not finite.
json number(double value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}

double real(const json& value) {
  if (!value.is_string()) return value.get<double>();
  const auto text = value.get<std::string>();
  if (const auto parsed = parse_double(text)) return *parsed;
  fail_value("a number", text);
}

template <typename Enum, size_t N>
Enum word(const std::array<std::string_view, N>& names, const json& value, std::string_view what) {
  const auto text = value.get<std::string>();
  for (size_t i = 0; i < N; ++i) {
    if (names[i] == text) return static_cast<Enum>(i);
  }
  fail_value(what, text);
}

json to(const Candidate& candidate) {
  return {{"solver", candidate.solver}, {"version", candidate.version}, {"config", candidate.config.key()}};
}
Candidate candidate_from(const json& value) {
  return {value.at("solver").get<std::string>(), value.at("version").get<std::string>(),
          Config::parse(value.at("config").get<std::string>())};
}

json to(const Protocol& protocol) {
  return {{"cache", kCacheNames[static_cast<size_t>(protocol.cache)]},
          {"procedure", protocol.procedure},
          {"seed", protocol.seed},
          {"min_gain", number(protocol.min_gain)},
          {"err_ratio", number(protocol.err_ratio)}};
}
Protocol protocol_from(const json& value) {
  return {word<CachePolicy>(kCacheNames, value.at("cache"), "the cache policy"),
          value.at("procedure").get<std::string>(), value.at("seed").get<uint64_t>(), real(value.at("min_gain")),
          real(value.at("err_ratio"))};
}

json to(const Errors& errors) {
  return json::array({number(errors.mismatch_ratio), number(errors.max_relative), number(errors.cosine)});
}
Errors errors_from(const json& value) { return {real(value.at(0)), real(value.at(1)), real(value.at(2))}; }

json to(const Measurement& measurement) {
  json samples = json::array();
  for (const Sample& sample : measurement.samples) {
    samples.push_back(json::array({number(sample.us), number(sample.clock), sample.round, sample.dirty ? 1 : 0}));
  }
  return {{"samples", std::move(samples)},
          {"noisy", measurement.noisy},
          {"median_us", number(measurement.median_us)},
          {"spread_us", number(measurement.spread_us)},
          {"workspace_bytes", measurement.workspace_bytes},
          {"rotation_bytes", measurement.rotation_bytes},
          {"timing", kTimingNames[static_cast<size_t>(measurement.timing)]},
          {"epoch", measurement.epoch},
          {"dropped_samples", measurement.dropped_samples}};
}
Measurement measurement_from(const json& value) {
  Measurement measurement;
  for (const json& sample : value.at("samples")) {
    measurement.samples.push_back({static_cast<float>(real(sample.at(0))), static_cast<float>(real(sample.at(1))),
                                   sample.at(2).get<uint32_t>(), sample.at(3).get<int>() != 0});
  }
  measurement.noisy = value.at("noisy").get<bool>();
  measurement.median_us = real(value.at("median_us"));
  measurement.spread_us = real(value.at("spread_us"));
  measurement.workspace_bytes = value.at("workspace_bytes").get<uint64_t>();
  measurement.rotation_bytes = value.at("rotation_bytes").get<uint64_t>();
  measurement.timing = word<Timing>(kTimingNames, value.at("timing"), "the timing");
  measurement.epoch = value.at("epoch").get<uint32_t>();
  measurement.dropped_samples = value.at("dropped_samples").get<uint32_t>();
  return measurement;
}

json to(const Outcome& outcome) {
  json value = {{"status", name(outcome.status)}, {"detail", outcome.detail}, {"errors", to(outcome.errors)}};
  if (outcome.measurement) value["measurement"] = to(*outcome.measurement);
  return value;
}
Outcome outcome_from(const json& value) {
  Outcome outcome;
  const auto text = value.at("status").get<std::string>();
  const auto status = parse_status(text);
  if (!status) fail_value("the status", text);
  outcome.status = *status;
  outcome.detail = value.at("detail").get<std::string>();
  outcome.errors = errors_from(value.at("errors"));
  if (value.contains("measurement")) outcome.measurement = measurement_from(value.at("measurement"));
  return outcome;
}

json to(const Finalist& finalist) {
  return {{"candidate", to(finalist.candidate)},
          {"us", number(finalist.us)},
          {"ratio", number(finalist.ratio)},
          {"ratio_low", number(finalist.ratio_low)},
          {"ratio_high", number(finalist.ratio_high)},
          {"num_clean", finalist.num_clean},
          {"errors", to(finalist.errors)}};
}
Finalist finalist_from(const json& value) {
  return {candidate_from(value.at("candidate")),
          real(value.at("us")),
          real(value.at("ratio")),
          real(value.at("ratio_low")),
          real(value.at("ratio_high")),
          value.at("num_clean").get<uint32_t>(),
          value.contains("errors") ? errors_from(value.at("errors")) : Errors{}};
}

json to_json(const Started& started) {
  return {{"type", "started"},
          {"problem", started.problem.key()},
          {"device", started.device},
          {"candidate", to(started.candidate)},
          {"versions", started.versions}};
}

json to_json(const Record& record) {
  return {{"type", "record"},
          {"problem", record.problem.key()},
          {"device", record.device},
          {"candidate", to(record.candidate)},
          {"versions", record.versions},
          {"protocol", to(record.protocol)},
          {"stage", name(record.stage)},
          {"dropped", record.dropped},
          {"outcome", to(record.outcome)}};
}

json to_json(const Decision& decision) {
  json finalists = json::array(), tied = json::array();
  for (const Finalist& finalist : decision.finalists) finalists.push_back(to(finalist));
  for (const Candidate& candidate : decision.tied) tied.push_back(to(candidate));
  return {{"type", "decision"},
          {"problem", decision.problem.key()},
          {"device", decision.device},
          {"protocol", to(decision.protocol)},
          {"winner", to(decision.winner)},
          {"baseline", to(decision.baseline)},
          {"versions", decision.versions},
          {"finalists", std::move(finalists)},
          {"tied", std::move(tied)},
          {"verdict", name(decision.verdict)},
          {"noisy", decision.noisy},
          {"incomplete", decision.incomplete},
          {"dropped_samples", decision.dropped_samples},
          {"errors", to(decision.errors)},
          {"num_clean", decision.num_clean},
          {"winner_us", number(decision.winner_us)},
          {"baseline_us", number(decision.baseline_us)},
          {"ratio", number(decision.ratio)},
          {"ratio_low", number(decision.ratio_low)},
          {"ratio_high", number(decision.ratio_high)},
          {"launches", decision.launches}};
}

json to_json(const Pardoned& pardoned) {
  return {{"type", "pardoned"}, {"device", pardoned.device}, {"candidate", to(pardoned.candidate)}};
}

Problem problem_from(const json& value) { return Problem::parse(value.at("problem").get<std::string>()); }
std::string device_from(const json& value) { return value.at("device").get<std::string>(); }

Started started_from(const json& value) {
  return {problem_from(value), device_from(value), candidate_from(value.at("candidate")),
          value.at("versions").get<Versions>()};
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
          outcome_from(value.at("outcome"))};
}

Decision decision_from(const json& value) {
  static constexpr std::array kVerdicts = {Verdict::faster, Verdict::tie, Verdict::baseline};
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
  const auto found =
      std::find_if(kVerdicts.begin(), kVerdicts.end(), [&](Verdict one) { return name(one) == verdict; });
  if (found == kVerdicts.end()) fail_value("the verdict", verdict);
  decision.verdict = *found;
  decision.noisy = value.at("noisy").get<bool>();
  decision.incomplete = value.value("incomplete", false);
  decision.dropped_samples = value.value("dropped_samples", 0u);
  decision.errors = errors_from(value.at("errors"));
  decision.num_clean = value.at("num_clean").get<uint32_t>();
  decision.winner_us = real(value.at("winner_us"));
  decision.baseline_us = real(value.at("baseline_us"));
  decision.ratio = real(value.at("ratio"));
  decision.ratio_low = real(value.at("ratio_low"));
  decision.ratio_high = real(value.at("ratio_high"));
  decision.launches = value.at("launches").get<uint64_t>();
  return decision;
}

}  // namespace

std::string entry_to_json(const Entry& entry) {
  const json value = std::visit([](const auto& one) { return to_json(one); }, entry);
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

Entry entry_from_json(std::string_view text) {
  try {
    const json value = json::parse(text);
    const auto type = value.at("type").get<std::string>();
    if (type == "started") return started_from(value);
    if (type == "record") return record_from(value);
    if (type == "decision") return decision_from(value);
    if (type == "pardoned") return Pardoned{device_from(value), candidate_from(value.at("candidate"))};
    fail_value("the type", type);
  } catch (const json::exception& error) {
    fail(ErrorCode::invalid_input, "an entry of the journal cannot be read: {}", error.what());
  }
}

}  // namespace attune
