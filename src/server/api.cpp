// SPDX-License-Identifier: MIT
#include "server/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "formats/csv/ban_file.h"
#include "report/entry_line.h"
#include "server/fleet/fleet_json.h"
#include "server/journal/problem_story.h"
#include "server/openapi.h"
#include "server/request_values.h"
#include "server/tables/table_page.h"

namespace attune {
namespace {

using nlohmann::ordered_json;
constexpr size_t kMaxEntryBytes = 64 * 1024;
constexpr size_t kMaxText = 500;

const ApiParameter kLimit{"limit", "integer", "lines at most, 1 to 1000"};

ordered_json time_or_null(int64_t at_ms) { return at_ms == 0 ? ordered_json() : ordered_json(at_ms); }

/// A ratio, an end of its interval or a time; 0: unknown.
ordered_json known_or_null(double value) { return value > 0 ? ordered_json(value) : ordered_json(); }

ordered_json result_json(const ResultRow& row) {
  return {{"id", row.stamp.id},
          {"at_ms", time_or_null(row.stamp.at_ms)},
          {"run", row.stamp.run},
          {"problem", row.problem},
          {"device", row.device},
          {"winner", row.winner},
          {"verdict", name(row.verdict)},
          {"require", text(row.require)},
          {"us", row.us},
          {"default_us", known_or_null(row.default_us)},
          {"speedup", known_or_null(row.ratio)},
          {"low", known_or_null(row.low)},
          {"high", known_or_null(row.high)},
          {"seconds", row.seconds},
          {"candidates", row.num_candidates},
          {"noisy", row.is_noisy},
          {"incomplete", row.is_incomplete}};
}

ordered_json table_line_json(const TableLine& line) {
  ordered_json one = {{"state", name(line.agreement)}, {"row", nullptr}, {"result", nullptr}};
  if (const auto& row = line.row)
    one["row"] = {{"family", row->family},
                  {"place", row->place},
                  {"problem", row->problem},
                  {"device", row->device},
                  {"kernel", row->kernel},
                  {"require", text(row->require)},
                  {"us", row->us ? ordered_json(*row->us) : ordered_json()},
                  {"taken", row->is_taken},
                  {"use", row->use}};
  if (line.decision) one["result"] = result_json(*line.decision);
  return one;
}

ordered_json run_json(const RunRow& row) {
  const int64_t now_ms = unix_ms();
  const auto left_s = row.left_s(now_ms);
  const auto mean = row.mean_ratio();
  return {{"run", row.run},
          {"at_ms", time_or_null(row.begin_ms)},
          {"end_ms", time_or_null(row.end_ms)},
          {"state", row.state},
          {"exit_status", row.end_ms == 0 ? ordered_json() : ordered_json(row.exit_status)},
          {"command", shown(row.command, kMaxText)},
          {"version", row.version},
          {"host", row.host},
          {"device", row.device},
          {"description", shown(row.description, kMaxText)},
          {"decisions", row.num_decisions},
          {"faster", row.num_faster},
          {"geometric_mean", mean ? ordered_json(*mean) : ordered_json()},
          {"records", row.num_records},
          {"failures", row.failures},
          {"problems", row.num_problems == 0 ? ordered_json() : ordered_json(row.num_problems)},
          {"last_ms", time_or_null(row.last_ms)},
          {"candidates_a_minute", row.end_ms == 0 ? row.candidates.a_minute(row.begin_ms, now_ms) : 0},
          {"left_s", left_s ? ordered_json(*left_s) : ordered_json()}};
}

}  // namespace

std::span<const ApiRoute> Api::routes() {
  static const std::vector<ApiRoute> routes = {
      {"/api/v1/state", "State", "How much of the journal is read, and what keeps it from being read", {}},
      {"/api/v1/runs",
       "Runs",
       "Runs, the newest first, with the numbers of their entries",
       {{"before", "integer", "only runs with a smaller number: the `next` of the page before"},
        {"run", "integer", "only this one"},
        kLimit}},
      {"/api/v1/results",
       "Results",
       "Decided problems",
       {{"text", "string", "in the problem, the winner or the device"},
        {"device", "string", "a device's key"},
        {"verdict", "string", "only these", false, {kVerdictNames.begin(), kVerdictNames.end()}},
        {"run", "integer", "only those of a run"},
        {"sort", "string", "by what they are sorted", false, {"at", "ratio", "us", "seconds", "problem"}},
        {"order", "string", "the largest first, or last", false, {"desc", "asc"}},
        {"after", "integer", "the id behind which to begin: the `next` of the page before"},
        kLimit}},
      {"/api/v1/problem",
       "Story",
       "One problem's whole story: its decisions, every candidate, its samples, why it left",
       {{"key", "string", "the problem, as results state it", true}, {"device", "string", "a device's key"}}},
      {"/api/v1/devices", "Devices", "Devices of the runs, with the numbers of runs", {}},
      {"/api/v1/tables",
       "Tables",
       "Rows of the published tables, each beside the journal's newest decision on its problem and device under its "
       "requirement",
       {{"text", "string", "in the problem, a kernel, the device or the file"},
        {"state",
         "string",
         "only these: the row names the winner or another kernel, there is no decision, or no row",
         false,
         {"same", "other", "undecided", "unpublished"}},
        {"after", "integer", "lines to skip: the `next` of the page before"},
        kLimit}},
      {"/api/v1/quarantine",
       "Quarantine",
       "Candidates that crashed or ran past their deadline and were not well since, the newest first",
       {{"before", "integer", "only records with a smaller id: the `next` of the page before"}, kLimit}},
      {"/api/v1/bans",
       "Bans",
       "Kernels that are banned, as the list of the server's user has them, with who banned them",
       {{"after", "integer", "bans to skip: the `next` of the page before"}, kLimit}},
      {"/api/v1/entries",
       "Entries",
       "Entries as `attune journal follow --json` prints them, the oldest first; one above 64 KiB is cut, and an "
       "answer "
       "ends with the one that brings it above 1 MiB",
       {{"after", "integer", "only entries with a larger id: the `next` of the page before"},
        {"run", "integer", "only those of a run"},
        kLimit}},
      {"/api/v1/fleet",
       "Fleet",
       "Tuning sessions with their jobs, the jobs that agents hold, and events, as the fleet's store has them now",
       {}},
      {"/api/v1/journals", "Journals", "The server's journals, and where the pages and data of each begin", {}},
      {"/api/v1/openapi.json", "Document", "This description, OpenAPI 3", {}},
  };
  return routes;
}

HttpAnswer Api::answer_route(std::string_view path, const HttpRequest& request) {
  using Answer = HttpAnswer (Api::*)(const HttpRequest&);
  static const std::map<std::string_view, Answer> answers = {
      {"/api/v1/state", &Api::state},           {"/api/v1/runs", &Api::runs},
      {"/api/v1/results", &Api::results},       {"/api/v1/problem", &Api::problem},
      {"/api/v1/devices", &Api::devices},       {"/api/v1/entries", &Api::entries},
      {"/api/v1/quarantine", &Api::quarantine}, {"/api/v1/bans", &Api::bans},
      {"/api/v1/tables", &Api::tables},         {"/api/v1/journals", &Api::journals},
      {"/api/v1/fleet", &Api::fleet},           {"/api/v1/openapi.json", &Api::openapi}};
  return (this->*answers.at(path))(request);
}

std::optional<HttpAnswer> Api::answer(const HttpRequest& request) {
  const auto route = std::ranges::find(routes(), request.path, &ApiRoute::path);
  if (route == routes().end()) return std::nullopt;
  for (const auto& [name, value] : request.query) {
    if (std::ranges::find(route->parameters, name, &ApiParameter::name) == route->parameters.end())
      return error_answer(400, fmt::format("{} has no parameter '{}'", route->path, shown(name)));
  }
  for (const ApiParameter& parameter : route->parameters) {
    const std::string_view value = request.value(std::string(parameter.name));
    if (parameter.is_required && value.empty())
      return error_answer(400, fmt::format("{} needs the parameter '{}'", route->path, parameter.name));
    if (request.query.contains(std::string(parameter.name)) && !parameter.values.empty() &&
        std::ranges::find(parameter.values, value) == parameter.values.end())
      return error_answer(400, fmt::format("{} must be one of {}, got '{}'", parameter.name,
                                           fmt::join(parameter.values, ", "), shown(value)));
  }
  try {
    return answer_route(route->path, request);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_input) return error_answer(400, error.what());
    return error_answer(503, error.what());  // A journal that is absent is no fault of the request.
  }
}

HttpAnswer Api::state(const HttpRequest&) {
  const WatchState state = watch_.state();
  return json_answer({{"newest_id", state.newest_id},
                      {"complete", state.is_complete},
                      {"generation", state.generation},
                      {"failure", state.failure}});
}

HttpAnswer Api::runs(const HttpRequest& request) {
  const int64_t before = integer_value(request, "before", 0, 1, kMaxId);
  const int64_t one = integer_value(request, "run", 0, 1, kMaxId);
  const auto limit = static_cast<size_t>(integer_value(request, "limit", 50, 1, kMaxLimit));
  std::vector<RunRow> rows;
  if (one == 0)
    rows = watch_.runs(before, limit);
  else if (auto row = watch_.run(one))
    rows.push_back(*std::move(row));
  ordered_json runs = ordered_json::array();
  for (const RunRow& row : rows) runs.push_back(run_json(row));
  const bool is_last = one != 0 || rows.size() < limit;
  return json_answer({{"runs", std::move(runs)},
                      {"complete", watch_.state().is_complete},
                      {"next", is_last ? ordered_json() : ordered_json(rows.back().run)}});
}

HttpAnswer Api::results(const HttpRequest& request) {
  ResultQuery query;
  query.text = std::string(request.value("text"));
  query.device = std::string(request.value("device"));
  query.run = integer_value(request, "run", 0, 1, kMaxId);
  query.after_id = integer_value(request, "after", 0, 0, kMaxId);
  query.limit = static_cast<size_t>(integer_value(request, "limit", 100, 1, kMaxLimit));
  query.verdict = parse_verdict(request.value("verdict"));
  query.order = parse_result_order(request.value("sort")).value_or(ResultOrder::id);
  query.is_ascending = request.value("order") == "asc";
  const ResultPage page = watch_.page(query);
  ordered_json results = ordered_json::array();
  for (const ResultRow& row : page.rows) results.push_back(result_json(row));
  return json_answer({{"results", std::move(results)},
                      {"found", page.num_found},
                      {"complete", watch_.state().is_complete},
                      {"next", page.is_last ? ordered_json() : ordered_json(page.rows.back().stamp.id)}});
}

HttpAnswer Api::problem(const HttpRequest& request) {
  const Problem problem = Problem::parse(request.value("key"));
  std::optional<std::string> device;
  if (!request.value("device").empty()) device = request.value("device");
  const auto story = journal_.read([&](const Journal& journal) { return problem_story(journal, problem, device); });
  if (story) return json_answer(*story);
  return error_answer(404, fmt::format("the journal has no entry of this problem: '{}'", shown(problem.key(), 300)));
}

HttpAnswer Api::devices(const HttpRequest&) {
  std::map<std::pair<std::string, std::string>, ordered_json> devices;  // By key and fingerprint.
  for (const RunRow& row : watch_.runs(0, std::numeric_limits<size_t>::max())) {
    const auto [device, is_new] = devices.try_emplace({row.device, row.fingerprint});
    if (is_new)  // The newest run comes first.
      device->second = {{"device", row.device},
                        {"fingerprint", row.fingerprint},
                        {"host", row.host},
                        {"description", shown(row.description, kMaxText)},
                        {"runs", 0},
                        {"last_ms", time_or_null(row.begin_ms)}};
    device->second["runs"] = device->second["runs"].get<int64_t>() + 1;
  }
  ordered_json list = ordered_json::array();
  for (auto& [key, device] : devices) list.push_back(std::move(device));
  return json_answer({{"devices", std::move(list)}});
}

HttpAnswer Api::tables(const HttpRequest& request) {
  TableQuery query;
  query.text = std::string(request.value("text"));
  query.agreement = parse_row_agreement(request.value("state"));
  query.limit = static_cast<size_t>(integer_value(request, "limit", 100, 1, kMaxLimit));
  query.after = static_cast<size_t>(integer_value(request, "after", 0, 0, kMaxId));
  const auto rows = tables_.rows();
  const TablePage page = table_page(*rows, *watch_.newest_results(), query);
  ordered_json lines = ordered_json::array(), counts;
  for (const TableLine& line : page.lines) lines.push_back(table_line_json(line));
  for (size_t i = 0; i < kNumRowAgreements; ++i)
    counts[std::string(name(static_cast<RowAgreement>(i)))] = page.counts[i];
  const size_t end = query.after + page.lines.size();
  return json_answer({{"tables", std::move(lines)},
                      {"found", page.num_found},
                      {"counts", std::move(counts)},
                      {"notices", rows->notices},
                      {"complete", watch_.state().is_complete},
                      {"next", end >= page.num_found ? ordered_json() : ordered_json(end)}});
}

HttpAnswer Api::quarantine(const HttpRequest& request) {
  const auto limit = static_cast<size_t>(integer_value(request, "limit", 100, 1, kMaxLimit));
  const auto deaths = watch_.deaths(integer_value(request, "before", 0, 1, kMaxId), limit);
  ordered_json list = ordered_json::array();
  for (const QuarantineVerdict& death : deaths) {
    std::string detail;
    const Query itself{.after = death.stamp.id - 1, .before = death.stamp.id + 1, .started = false, .pardons = false};
    journal_.read([&](const Journal& journal) {
      journal.scan(itself, [&](const Entry& entry, const Stamp&) {
        if (const auto* record = std::get_if<Record>(&entry)) detail = shown(record->outcome.detail, kMaxText);
      });
    });
    list.push_back({{"id", death.stamp.id},
                    {"at_ms", time_or_null(death.stamp.at_ms)},
                    {"run", death.stamp.run},
                    {"problem", death.problem},
                    {"device", death.device},
                    {"candidate", death.candidate},
                    {"status", death.status},
                    {"detail", detail}});
  }
  return json_answer({{"quarantine", std::move(list)},
                      {"complete", watch_.state().is_complete},
                      {"next", deaths.size() < limit ? ordered_json() : ordered_json(deaths.back().stamp.id)}});
}

HttpAnswer Api::bans(const HttpRequest& request) {
  const auto limit = static_cast<size_t>(integer_value(request, "limit", 100, 1, kMaxLimit));
  const auto after = static_cast<size_t>(integer_value(request, "after", 0, 0, kMaxId));
  std::vector<std::string> notices;
  const auto all = bans_of_user(notices);
  const size_t begin = std::min(after, all->all().size()), end = std::min(begin + limit, all->all().size());
  ordered_json list = ordered_json::array();
  for (size_t i = begin; i < end; ++i) {
    const Ban& ban = all->all()[i];
    ordered_json one = {
        {"candidate", ban.candidate}, {"device", ban.device}, {"problem", ban.problem}, {"reason", ban.reason}};
    const auto made = watch_.made(ban);
    one["by"] = made ? made->first.by : "";
    one["at_ms"] = made ? time_or_null(made->second.at_ms) : ordered_json();
    list.push_back(std::move(one));
  }
  return json_answer({{"bans", std::move(list)},
                      {"notices", notices},
                      {"next", end == all->all().size() ? ordered_json() : ordered_json(end)}});
}

HttpAnswer Api::entries(const HttpRequest& request) {
  constexpr size_t kMaxPageBytes = 1024 * 1024;
  constexpr size_t kEntriesOfARead = 16;  // What lies beyond the page is read for nothing.
  Query query{.after = integer_value(request, "after", 0, 0, kMaxId), .runs = true, .bans = true};
  if (const int64_t run = integer_value(request, "run", 0, 1, kMaxId); run != 0) query.run = run;
  const auto limit = static_cast<size_t>(integer_value(request, "limit", 100, 1, kMaxLimit));
  // A text and no document, which takes many times its bytes.
  std::string lines;
  size_t num_lines = 0;
  bool has_more = false;
  journal_.read([&](const Journal& journal) {
    query.limit = kEntriesOfARead;
    size_t num_read = 0;
    do {
      num_read = 0;
      journal.scan(query, [&](const Entry& entry, const Stamp& stamp) {
        ++num_read;
        has_more = has_more || num_lines == limit || lines.size() >= kMaxPageBytes;
        if (has_more) return;
        query.after = stamp.id;
        const std::string line = entry_line_json(entry, stamp);
        if (num_lines++ > 0) lines += ',';
        lines += line.size() <= kMaxEntryBytes
                     ? line
                     : fmt::format(R"({{"id":{},"run":{},"cut":{}}})", stamp.id, stamp.run, line.size());
      });
    } while (num_read == kEntriesOfARead && !has_more);
  });
  return json_text_answer(
      fmt::format(R"({{"entries":[{}],"next":{}}})", lines, has_more ? std::to_string(query.after) : "null"));
}

HttpAnswer Api::fleet(const HttpRequest&) { return json_answer(fleet_json(*fleet_.sight())); }

HttpAnswer Api::journals(const HttpRequest&) {
  ordered_json list = ordered_json::array();
  for (size_t i = 0; i < names_.size(); ++i)
    list.push_back({{"number", i + 1}, {"name", names_[i]}, {"pages", fmt::format("/journals/{}/", i + 1)}});
  return json_answer({{"journals", std::move(list)}});
}

HttpAnswer Api::openapi(const HttpRequest&) { return json_answer(openapi_document(routes())); }

}  // namespace attune
