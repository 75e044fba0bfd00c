// SPDX-License-Identifier: MIT
#include "report/document/json_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

constexpr int kVersion = 1;

ordered_json json_of(const Interval& interval) { return ordered_json::array({interval.low, interval.high}); }
ordered_json json_of(Verdict verdict) { return name(verdict); }
ordered_json json_of(Status status) { return name(status); }
template <typename Value>
ordered_json json_of(const Value& value) {
  return value;
}

void read(const ordered_json& object, Interval& interval) {
  interval = {object.at(0).get<double>(), object.at(1).get<double>()};
}
void read(const ordered_json& object, Verdict& verdict) {
  const auto known = parse_verdict(object.get<std::string>());
  if (!known) fail(ErrorCode::invalid_input, "a verdict that this program does not know");
  verdict = *known;
}
void read(const ordered_json& object, Status& status) {
  const auto known = parse_status(object.get<std::string>());
  if (!known) fail(ErrorCode::invalid_input, "a status that this program does not know");
  status = *known;
}
template <typename Value>
void read(const ordered_json& object, Value& value) {
  object.get_to(value);
}

/// Takes each member of a part of the report, in the order of the document.
struct MemberWriter {
  template <typename Part>
  using Of = const Part;
  ordered_json object = ordered_json::object();
  template <typename Value>
  void operator()(const char* member, const Value& value) {
    object[member] = json_of(value);
  }
};

struct MemberReader {
  template <typename Part>
  using Of = Part;
  const ordered_json& object;
  template <typename Value>
  void operator()(const char* member, Value& value) {
    read(object.at(member), value);
  }
};

// The members of each part, stated once for the writer and the reader.

template <typename Members>
void describe(Members& take, typename Members::template Of<ReportRun>& run) {
  take("number", run.number);
  take("begun_ms", run.begun_ms);
  take("ended_ms", run.ended_ms);
  take("ending", run.ending);
  take("command", run.command);
  take("program_version", run.program_version);
  take("host", run.host);
  take("device", run.device);
  take("fingerprint", run.fingerprint);
  take("description", run.description);
  take("versions", run.versions);
  take("environment", run.environment);
}

template <typename Members>
void describe(Members& take, typename Members::template Of<ReportDecision>& one) {
  take("problem", one.problem);
  take("shape", one.shape);
  take("op", one.op);
  take("device", one.device);
  take("fingerprint", one.fingerprint);
  take("m", one.m);
  take("winner", one.winner);
  take("default", one.baseline);
  take("solver", one.solver);
  take("verdict", one.verdict);
  take("noisy", one.noisy);
  take("incomplete", one.incomplete);
  take("winner_us", one.winner_us);
  take("default_us", one.default_us);
  take("speedup", one.ratio);
  take("interval", one.interval);
  take("wrong_share", one.wrong_share);
  take("flops", one.flops);
  take("bytes", one.bytes);
  take("arithmetic", one.arithmetic);
  take("of_roofline", one.of_roofline);
  take("candidates", one.num_candidates);
  take("seconds", one.seconds);
  take("run", one.run);
  take("at_ms", one.at_ms);
}

template <typename Members>
void describe(Members& take, typename Members::template Of<ReportUndecided>& one) {
  take("problem", one.problem);
  take("shape", one.shape);
  take("op", one.op);
  take("device", one.device);
  take("candidates", one.num_candidates);
}

template <typename Members>
void describe(Members& take, typename Members::template Of<ReportFailure>& one) {
  take("status", one.status);
  take("solver", one.solver);
  take("count", one.count);
  take("candidate", one.candidate);
  take("problem", one.problem);
  take("detail", one.detail);
}

template <typename Members>
void describe(Members& take, typename Members::template Of<ReportProgress>& one) {
  take("problem", one.problem);
  take("device", one.device);
  take("best", one.best);
}

template <typename Members>
void describe(Members& take, typename Members::template Of<ReportNoise>& one) {
  take("begin_ms", one.begin_ms);
  take("width_ms", one.width_ms);
  take("samples", one.num_samples);
  take("dirty", one.num_dirty);
  take("measurements", one.num_measurements);
  take("noisy", one.num_noisy);
}

template <typename Members>
void describe(Members& take, typename Members::template Of<ReportDevice>& one) {
  take("key", one.key);
  take("fingerprint", one.fingerprint);
  take("model", one.model);
  take("peak_gflops", one.peak_gflops);
  take("bandwidth_gbs", one.bandwidth_gbs);
}

template <typename Part>
concept IsDescribed = requires(MemberWriter& writer, const Part& part) {
  describe(writer, part);
};

ordered_json json_of(const IsDescribed auto& part) {
  MemberWriter writer;
  describe(writer, part);
  return std::move(writer.object);
}

void read(const ordered_json& object, IsDescribed auto& part) {
  MemberReader reader{object};
  describe(reader, part);
}

/// A time of 0 was not measured and is omitted.
ordered_json json_of(const ReportKernel& kernel) {
  ordered_json object = {{"candidate", kernel.candidate}, {"row", kernel.row}};
  if (kernel.us > 0) object["us"] = kernel.us;
  return object;
}

void read(const ordered_json& object, ReportKernel& kernel) {
  object.at("candidate").get_to(kernel.candidate);
  object.at("row").get_to(kernel.row);
  kernel.us = object.value("us", 0.0);
}

ordered_json json_of(const ReportChange& change) {
  ordered_json object = {{"problem", change.problem},          {"shape", change.shape},
                         {"verdict", name(change.verdict)},    {"reason", change.reason},
                         {"before", json_of(change.before)},   {"after", json_of(change.after)},
                         {"default", json_of(change.baseline)}};
  if (change.num_pairs == 0) return object;
  object["speedup"] = change.speedup;
  object["interval"] = json_of(change.interval);
  object["attempts"] = change.attempts;
  object["pairs"] = change.num_pairs;
  return object;
}

void read(const ordered_json& object, ReportChange& change) {
  object.at("problem").get_to(change.problem);
  change.shape = object.value("shape", change.problem);
  const auto verdict = parse_report_verdict(object.at("verdict").get<std::string>());
  if (!verdict) fail(ErrorCode::invalid_input, "a verdict that this program does not know");
  change.verdict = *verdict;
  object.at("reason").get_to(change.reason);
  read(object.at("before"), change.before);
  read(object.at("after"), change.after);
  read(object.at("default"), change.baseline);
  if (!object.contains("pairs")) return;
  object.at("speedup").get_to(change.speedup);
  read(object.at("interval"), change.interval);
  object.at("attempts").get_to(change.attempts);
  object.at("pairs").get_to(change.num_pairs);
}

ordered_json json_of(const ReportFamily& family);
void read(const ordered_json& object, ReportFamily& family);

template <typename One>
ordered_json list_of(const std::vector<One>& all) {
  ordered_json list = ordered_json::array();
  for (const One& one : all) list.push_back(json_of(one));
  return list;
}

template <typename One>
void read_list(const ordered_json& document, const char* name, std::vector<One>& all) {
  const auto list = document.find(name);
  if (list == document.end()) return;  // A document of an older program.
  for (const ordered_json& one : *list) read(one, all.emplace_back());
}

ordered_json counts_of(std::span<const ReportFamily> families) {
  std::array<uint64_t, kNumReportVerdicts> counts{};
  for (const ReportFamily& family : families) {
    for (const ReportChange& change : family.changes) ++counts[static_cast<size_t>(change.verdict)];
  }
  ordered_json object = ordered_json::object();
  for (size_t i = 0; i < counts.size(); ++i) object[std::string(name(static_cast<ReportVerdict>(i)))] = counts[i];
  return object;
}

ordered_json json_of(const ReportFamily& family) {
  return {{"family", family.family},
          {"device", family.device},
          {"fingerprint", family.fingerprint},
          {"done", family.is_done},
          {"failure", family.failure},
          {"num_findings", family.num_findings},
          {"rows",
           {{"added", family.num_added},
            {"changed", family.num_changed},
            {"removed", family.num_removed},
            {"same", family.num_same}}},
          {"counts", counts_of(std::span(&family, 1))},
          {"shapes", list_of(family.changes)}};
}

void read(const ordered_json& object, ReportFamily& family) {
  object.at("family").get_to(family.family);
  object.at("device").get_to(family.device);
  family.fingerprint = object.value("fingerprint", "");  // Absent in a document of an older program.
  object.at("done").get_to(family.is_done);
  object.at("failure").get_to(family.failure);
  object.at("num_findings").get_to(family.num_findings);
  const ordered_json& rows = object.at("rows");
  rows.at("added").get_to(family.num_added);
  rows.at("changed").get_to(family.num_changed);
  rows.at("removed").get_to(family.num_removed);
  rows.at("same").get_to(family.num_same);
  read_list(object, "shapes", family.changes);
}

void add_pipeline(ordered_json& document, const ReportPipeline& pipeline) {
  document["ending"] = pipeline.ending;
  document["status"] = pipeline.status;
  document["inputs"] = ordered_json::parse(pipeline.inputs, nullptr, false);
  if (!document["inputs"].is_object()) document["inputs"] = ordered_json::object();
  document["counts"] = counts_of(pipeline.families);
  document["families"] = list_of(pipeline.families);
}

void read_pipeline(const ordered_json& document, ReportModel& model) {
  if (!document.contains("ending")) return;
  ReportPipeline& pipeline = model.pipeline.emplace();
  document.at("ending").get_to(pipeline.ending);
  if (!document.contains("families"))
    fail(ErrorCode::invalid_input, "the run has not come to its end, run `attune ci run` again to go on with it");
  document.at("status").get_to(pipeline.status);
  pipeline.inputs = document.at("inputs").dump();
  read_list(document, "families", pipeline.families);
}

ReportModel model_of_document(const ordered_json& document) {
  if (!document.is_object() || !document.contains("version"))
    fail(ErrorCode::invalid_input, "it is no report of Attune");
  if (document.at("version").get<int>() > kVersion)
    fail(ErrorCode::invalid_input, "it is of a newer version, use the newer program");
  ReportModel model;
  read_pipeline(document, model);
  read_list(document, "runs", model.runs);
  read_list(document, "decisions", model.decisions);
  read_list(document, "undecided", model.undecided);
  read_list(document, "failures", model.failures);
  read_list(document, "progress", model.progress);
  read_list(document, "noise", model.noise);
  read_list(document, "devices", model.devices);
  model.num_runs = document.value("num_runs", uint64_t{0});
  model.num_records = document.value("num_records", uint64_t{0});
  model.num_damaged = document.value("num_damaged", uint64_t{0});
  return model;
}

}  // namespace

std::string report_json(const ReportModel& model) {
  ordered_json document = {{"version", kVersion}};
  if (model.pipeline) add_pipeline(document, *model.pipeline);
  document["num_runs"] = model.num_runs;
  document["num_records"] = model.num_records;
  document["num_damaged"] = model.num_damaged;
  document["runs"] = list_of(model.runs);
  document["devices"] = list_of(model.devices);
  document["decisions"] = list_of(model.decisions);
  document["undecided"] = list_of(model.undecided);
  document["failures"] = list_of(model.failures);
  document["progress"] = list_of(model.progress);
  document["noise"] = list_of(model.noise);
  return document.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

ReportModel parse_report_json(std::string_view text, const std::string& source) {
  constexpr const char* kRemedy = "make them anew with `attune ci run` or `attune report --format json`";
  try {
    return model_of_document(ordered_json::parse(text));
  } catch (const nlohmann::json::parse_error& error) {
    // The end of a torn file is on its last line, not on the one that would follow.
    const std::string_view before =
        error.byte > text.size() ? trim(text) : text.substr(0, error.byte > 0 ? error.byte - 1 : 0);
    fail(ErrorCode::invalid_input, "{}:{}: the results are torn or were changed, this is no JSON, {}",
         shown(source, 500), 1 + std::count(before.begin(), before.end(), '\n'), kRemedy);
  } catch (const nlohmann::json::exception&) {
    fail(ErrorCode::invalid_input,
         "the results cannot be read, a member is missing or not what a report of Attune has there, {}: '{}'", kRemedy,
         shown(source, 500));
  } catch (const Error& error) {
    fail(ErrorCode::invalid_input, "the results cannot be read, {}: '{}'", error.what(), shown(source, 500));
  }
}

}  // namespace attune
