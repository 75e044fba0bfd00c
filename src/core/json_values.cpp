// SPDX-License-Identifier: MIT
#include "core/json_values.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"

namespace attune {
namespace {

using nlohmann::json;

[[noreturn]] void fail_value(std::string_view what, std::string_view text) {
  fail(ErrorCode::invalid_input, "{} is not known: '{}'", what, shown(text));
}

constexpr std::string_view kClockBefore = "host";  // The clock's name in entries of older versions.

[[noreturn]] void fail_whole(const json& value, std::string_view range) {
  // A number is short and is printed; any other value may be large, so its type is printed.
  const std::string got = value.is_number() ? value.dump() : value.type_name();
  fail(ErrorCode::invalid_input, "expected a whole number from {}, got {}", range, got);
}

}  // namespace

double real_from(const json& value) {
  if (!value.is_string()) return value.get<double>();
  const auto text = value.get<std::string>();
  if (const auto parsed = parse_double(text)) return *parsed;
  fail_value("a number", text);
}

uint64_t uint64_from(const json& value) {
  if (value.is_number_unsigned()) return value.get<uint64_t>();
  if (!value.is_number_integer() || value.get<int64_t>() < 0) fail_whole(value, "0 to 2^64 - 1");
  return static_cast<uint64_t>(value.get<int64_t>());
}

uint32_t uint32_from(const json& value) {
  const uint64_t number = uint64_from(value);
  if (number > std::numeric_limits<uint32_t>::max()) fail_whole(value, "0 to 2^32 - 1");
  return static_cast<uint32_t>(number);
}

int64_t int64_from(const json& value) {
  const bool fits =
      !value.is_number_unsigned() || value.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()};
  if (!value.is_number_integer() || !fits) fail_whole(value, "-2^63 to 2^63 - 1");
  return value.get<int64_t>();
}

Timing timing_from(const json& value) {
  const auto text = value.get<std::string>();
  if (const auto timing = parse_timing(text)) return *timing;
  if (text == kClockBefore) return Timing::clock;
  fail_value("the timing", text);
}

json json_of(const Candidate& candidate) {
  return {{"solver", candidate.solver}, {"version", candidate.version}, {"config", candidate.config.key()}};
}
Candidate candidate_from(const json& value) {
  return {value.at("solver").get<std::string>(), value.at("version").get<std::string>(),
          Config::parse(value.at("config").get<std::string>())};
}

json json_of(const Protocol& protocol) {
  json value = {{"cache", name(protocol.cache)},
                {"procedure", protocol.procedure},
                {"seed", protocol.seed},
                {"min_gain", protocol.min_gain},
                {"err_ratio", protocol.err_ratio}};
  if (protocol.require != Requirement::none) value["require"] = text(protocol.require);
  if (protocol.timing != Timing::clock) value["timing"] = name(protocol.timing);
  if (protocol.checks != 1) value["checks"] = protocol.checks;
  if (protocol.values != TimedValues::randn) value["values"] = name(protocol.values);
  return value;
}
Protocol protocol_from(const json& value) {
  return {parse_cache_policy(value.at("cache").get<std::string>()),
          value.at("procedure").get<std::string>(),
          uint64_from(value.at("seed")),
          real_from(value.at("min_gain")),
          real_from(value.at("err_ratio")),
          parse_requirement(value.value("require", "")),
          value.contains("timing") ? timing_from(value.at("timing")) : Timing::clock,
          value.contains("checks") ? uint32_from(value.at("checks")) : 1,
          parse_timed_values(value.value("values", "randn"))};
}

json json_of(const Errors& errors) { return json::array({errors.mismatch_ratio, errors.max_relative, errors.cosine}); }
Errors errors_from(const json& value) {
  return {real_from(value.at(0)), real_from(value.at(1)), real_from(value.at(2))};
}

json json_of(const Sample& sample) {
  return json::array({sample.us, sample.clock, sample.round, sample.dirty ? 1 : 0});
}
Sample sample_from(const json& value) {
  return {static_cast<float>(real_from(value.at(0))), static_cast<float>(real_from(value.at(1))),
          uint32_from(value.at(2)), uint64_from(value.at(3)) != 0};
}

json json_of(const Measurement& measurement) {
  json samples = json::array();
  for (const Sample& sample : measurement.samples) samples.push_back(json_of(sample));
  json value = {{"samples", std::move(samples)},
                {"noisy", measurement.noisy},
                {"median_us", measurement.median_us},
                {"spread_us", measurement.spread_us},
                {"workspace_bytes", measurement.workspace_bytes},
                {"rotation_bytes", measurement.rotation_bytes},
                {"timing", name(measurement.timing)},
                {"epoch", measurement.epoch},
                {"dropped_samples", measurement.dropped_samples}};
  if (measurement.bandwidth_gbs > 0) value["bandwidth_gbs"] = measurement.bandwidth_gbs;
  return value;
}
Measurement measurement_from(const json& value) {
  Measurement measurement;
  for (const json& sample : value.at("samples")) measurement.samples.push_back(sample_from(sample));
  measurement.noisy = value.at("noisy").get<bool>();
  measurement.median_us = real_from(value.at("median_us"));
  measurement.spread_us = real_from(value.at("spread_us"));
  measurement.workspace_bytes = uint64_from(value.at("workspace_bytes"));
  measurement.rotation_bytes = uint64_from(value.at("rotation_bytes"));
  measurement.timing = timing_from(value.at("timing"));
  if (value.contains("bandwidth_gbs")) measurement.bandwidth_gbs = real_from(value.at("bandwidth_gbs"));
  measurement.epoch = uint32_from(value.at("epoch"));
  measurement.dropped_samples = uint32_from(value.at("dropped_samples"));
  return measurement;
}

json json_of(const Outcome& outcome) {
  json value = {{"status", name(outcome.status)}, {"detail", outcome.detail}, {"errors", json_of(outcome.errors)}};
  if (outcome.measurement) value["measurement"] = json_of(*outcome.measurement);
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

}  // namespace attune
