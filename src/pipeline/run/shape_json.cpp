// SPDX-License-Identifier: MIT
#include "pipeline/run/shape_json.h"

#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "base/error.h"
#include "core/statistics.h"
#include "report/comparison_output.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

ordered_json timed_json(const std::optional<TimedCandidate>& timed, const Candidate& candidate) {
  ordered_json object = {{"candidate", candidate.name()}};
  if (!timed) return object;
  object["status"] = name(timed->outcome.status);
  object["detail"] = timed->outcome.detail;
  if (timed->comparison.us > 0) add_comparison(object, timed->comparison);
  return object;
}

std::string name_of(const Candidate& kernel) { return kernel.solver.empty() ? "" : kernel.name(); }

ordered_json kernel_json(const Candidate& kernel, const std::string& row, std::span<const double> us) {
  ordered_json object = {{"candidate", name_of(kernel)}, {"row", row}};
  if (!us.empty()) object["us"] = geometric_mean(us);
  return object;
}

/// A kernel of one side with the median time of each opening.
ordered_json side_json(const Candidate& kernel, const std::string& row, const std::vector<double>& us) {
  return {{"candidate", name_of(kernel)}, {"row", row}, {"us", us}};
}

Candidate read_side(const ordered_json& object, std::string& row, std::vector<double>& us) {
  row = object.at("row").get<std::string>();
  us = object.at("us").get<std::vector<double>>();
  const auto name = object.at("candidate").get<std::string>();
  return name.empty() ? Candidate() : Candidate::parse(name);
}

}  // namespace

ordered_json times_json(const ShapeTimes& times) {
  ordered_json object = {{"problem", times.shape.problem.key()},
                         {"line", times.shape.line},
                         {"match", name(times.kernel.match)},
                         {"row", times.kernel.row},
                         {"reason", times.reason}};
  if (times.kernel.stated_us) object["stated_us"] = *times.kernel.stated_us;
  if (times.kernel.served.solver.empty()) return object;  // It was not even looked up.
  object["served"] = timed_json(times.served, times.kernel.served);
  if (times.kernel.baseline.solver.empty())
    object["default"] = nullptr;
  else
    object["default"] = timed_json(times.baseline, times.kernel.baseline);
  return object;
}

ordered_json verdict_json(const ShapeChange& shape, const ChangeResult& result) {
  ordered_json object = {{"problem", shape.problem.key()},
                         {"verdict", name(result.verdict)},
                         {"reason", shape.reason},
                         {"before", kernel_json(shape.before.served, shape.before.row, shape.before_us)},
                         {"after", kernel_json(shape.after.served, shape.after.row, shape.after_us)},
                         {"default", kernel_json(shape.after.baseline, "", shape.default_us)}};
  if (result.num_pairs == 0) return object;
  object["speedup"] = result.speedup;
  object["interval"] = {result.interval.low, result.interval.high};
  object["attempts"] = result.attempts;
  object["pairs"] = result.num_pairs;
  return object;
}

ordered_json change_json(const ShapeChange& shape) {
  return {{"problem", shape.problem.key()},
          {"reason", shape.reason},
          {"why_failed", shape.samples.why_failed},
          {"before", side_json(shape.before.served, shape.before.row, shape.before_us)},
          {"after", side_json(shape.after.served, shape.after.row, shape.after_us)},
          {"default", side_json(shape.after.baseline, "", shape.default_us)},
          {"log_ratios", shape.samples.attempts}};
}

ShapeChange read_change(const ordered_json& object) {
  try {
    ShapeChange shape{.problem = Problem::parse(object.at("problem").get<std::string>())};
    std::string none;
    shape.reason = object.at("reason").get<std::string>();
    shape.before.served = read_side(object.at("before"), shape.before.row, shape.before_us);
    shape.after.served = read_side(object.at("after"), shape.after.row, shape.after_us);
    shape.after.baseline = read_side(object.at("default"), none, shape.default_us);
    shape.samples.why_failed = object.at("why_failed").get<std::string>();
    shape.samples.attempts = object.at("log_ratios").get<std::vector<std::vector<ChangePairs>>>();
    return shape;
  } catch (const nlohmann::json::exception&) {
    fail(ErrorCode::invalid_input, "a shape of after.json cannot be read, remove the folder of the run");
  }
}

}  // namespace attune
