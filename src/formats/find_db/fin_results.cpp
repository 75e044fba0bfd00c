// SPDX-License-Identifier: MIT
// Members: fin's output as ROCm/MIFin writes it and ROCm/MITuna reads it (MIT).
#include "formats/find_db/fin_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "formats/find_db/find_db_key.h"
#include "formats/text_db.h"

namespace attune {
namespace {

using nlohmann::json;

constexpr uint64_t kMaxFinBytes = uint64_t{256} << 20;
constexpr int kMaxFinDepth = 32;

size_t line_of_byte(std::string_view content, size_t byte) {
  const size_t end = std::min(byte, content.size());
  return 1 + static_cast<size_t>(std::count(content.begin(), content.begin() + static_cast<ptrdiff_t>(end), '\n'));
}

json parse_fin(std::string_view content, const std::string& name) {
  const auto is_shallow = [&](int depth, json::parse_event_t, json&) {
    if (depth > kMaxFinDepth)
      fail(ErrorCode::invalid_input, "{}: nested deeper than {} levels, results of fin are not", name, kMaxFinDepth);
    return true;
  };
  try {
    return json::parse(content, is_shallow);
  } catch (const json::parse_error& error) {
    fail(ErrorCode::invalid_input, "{}:{}: {}, name a whole file of fin's results", name,
         line_of_byte(content, error.byte), error.byte >= content.size() ? "the JSON is cut off" : "this is no JSON");
  } catch (const json::exception&) {
    fail(ErrorCode::invalid_input, "{}: a number is out of range, name a file of fin's results", name);
  }
}

/// A member's text; empty if it is missing.
std::string text_member(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

/// A member's number as text; empty if it is missing.
std::string number_member(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_number() ? found->dump() : std::string();
}

bool has_usable_fin_time(const json& result) {
  const auto time = result.find("time");
  return time != result.end() && time->is_number() && std::isfinite(time->get<double>()) && time->get<double>() > 0;
}

/// The results of a job's evaluation steps.
void add_fin_results(MiopenShapesBuilder& builder, const json& job, size_t shape, size_t line) {
  for (const char* step : {"miopen_find_eval_result", "miopen_perf_eval_result"}) {
    const auto results = job.find(step);
    if (results == job.end() || !results->is_array()) continue;
    for (const json& result : *results) {
      const std::string solver = result.is_object() ? text_member(result, "solver_name") : std::string();
      if (solver.empty() || !has_usable_fin_time(result)) {
        builder.leave_out_result(line);
        continue;
      }
      builder.add_result({.shape = shape,
                          .solver = solver,
                          .algorithm = text_member(result, "algorithm"),
                          .time_ms = number_member(result, "time"),
                          .workspace_bytes = number_member(result, "workspace"),
                          .params = text_member(result, "params")});
    }
  }
}

}  // namespace

bool is_fin_results(const std::filesystem::path& path) {
  const std::string head = head_of_file(path);
  const size_t first = head.find_first_not_of(" \t\r\n");
  return first != std::string::npos && head[first] == '[';
}

MiopenShapes parse_fin_results(std::string_view content, const std::string& name, bool with_results) {
  const json jobs = parse_fin(content, name);
  if (!jobs.is_array()) fail(ErrorCode::invalid_input, "{}:1: results of fin are a list of jobs", name);
  MiopenShapesBuilder builder(name, "results", false);
  size_t place = 0;  // Where the next job's key is looked for.
  for (const json& job : jobs) {
    const std::string text = job.is_object() ? text_member(job, "db_key") : std::string();
    if (text.empty()) continue;  // The first element describes the process.
    place = std::min(content.find("\"" + text + "\"", place), content.size());
    const size_t line = line_of_byte(content, place);
    try {
      const FindDbKey key = FindDbKey::parse(text);
      if (std::string why = why_untunable(key); !why.empty()) {
        builder.leave_out(line, std::move(why));
        continue;
      }
      const size_t shape = builder.add(problem_of(key.conv), line);
      if (with_results) add_fin_results(builder, job, shape, line);
    } catch (Error& error) {
      error.add_context(fmt::format("{}:{}", name, line));
      throw;
    }
  }
  return builder.take();
}

MiopenShapes read_fin_results(const std::filesystem::path& path, bool with_results) {
  return parse_fin_results(read_file(path, kMaxFinBytes), path.string(), with_results);
}

}  // namespace attune
