// SPDX-License-Identifier: MIT
#include "report/document/json_report.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "base/error.h"
#include "base/text.h"

namespace attune {
namespace {

using nlohmann::ordered_json;

constexpr int kVersion = 1;

ordered_json json_of(const Interval& interval) { return ordered_json::array({interval.low, interval.high}); }

Interval interval_of(const ordered_json& object) { return {object.at(0).get<double>(), object.at(1).get<double>()}; }

ordered_json json_of(const ReportRun& run) {
  return {{"number", run.number},
          {"begun_ms", run.begun_ms},
          {"ended_ms", run.ended_ms},
          {"ending", run.ending},
          {"command", run.command},
          {"program_version", run.program_version},
          {"host", run.host},
          {"device", run.device},
          {"fingerprint", run.fingerprint},
          {"description", run.description},
          {"versions", run.versions},
          {"environment", run.environment}};
}

void read(const ordered_json& object, ReportRun& run) {
  object.at("number").get_to(run.number);
  object.at("begun_ms").get_to(run.begun_ms);
  object.at("ended_ms").get_to(run.ended_ms);
  object.at("ending").get_to(run.ending);
  object.at("command").get_to(run.command);
  object.at("program_version").get_to(run.program_version);
  object.at("host").get_to(run.host);
  object.at("device").get_to(run.device);
  object.at("fingerprint").get_to(run.fingerprint);
  object.at("description").get_to(run.description);
  object.at("versions").get_to(run.versions);
  object.at("environment").get_to(run.environment);
}

ordered_json json_of(const ReportDecision& one) {
  return {{"problem", one.problem},
          {"shape", one.shape},
          {"op", one.op},
          {"device", one.device},
          {"fingerprint", one.fingerprint},
          {"m", one.m},
          {"winner", one.winner},
          {"default", one.untuned},
          {"solver", one.solver},
          {"verdict", name(one.verdict)},
          {"noisy", one.noisy},
          {"incomplete", one.incomplete},
          {"winner_us", one.winner_us},
          {"default_us", one.untuned_us},
          {"speedup", one.ratio},
          {"interval", json_of(one.interval)},
          {"wrong_share", one.wrong_share},
          {"flops", one.flops},
          {"bytes", one.bytes},
          {"arithmetic", one.arithmetic},
          {"of_roofline", one.of_roofline},
          {"candidates", one.num_candidates},
          {"seconds", one.seconds},
          {"run", one.run},
          {"at_ms", one.at_ms}};
}

void read(const ordered_json& object, ReportDecision& one) {
  object.at("problem").get_to(one.problem);
  object.at("shape").get_to(one.shape);
  object.at("op").get_to(one.op);
  object.at("device").get_to(one.device);
  object.at("fingerprint").get_to(one.fingerprint);
  object.at("m").get_to(one.m);
  object.at("winner").get_to(one.winner);
  object.at("default").get_to(one.untuned);
  object.at("solver").get_to(one.solver);
  const auto verdict = parse_verdict(object.at("verdict").get<std::string>());
  if (!verdict) fail(ErrorCode::invalid_input, "a verdict that this program does not know");
  one.verdict = *verdict;
  object.at("noisy").get_to(one.noisy);
  object.at("incomplete").get_to(one.incomplete);
  object.at("winner_us").get_to(one.winner_us);
  object.at("default_us").get_to(one.untuned_us);
  object.at("speedup").get_to(one.ratio);
  one.interval = interval_of(object.at("interval"));
  object.at("wrong_share").get_to(one.wrong_share);
  object.at("flops").get_to(one.flops);
  object.at("bytes").get_to(one.bytes);
  object.at("arithmetic").get_to(one.arithmetic);
  object.at("of_roofline").get_to(one.of_roofline);
  object.at("candidates").get_to(one.num_candidates);
  object.at("seconds").get_to(one.seconds);
  object.at("run").get_to(one.run);
  object.at("at_ms").get_to(one.at_ms);
}

ordered_json json_of(const ReportUndecided& one) {
  return {{"problem", one.problem},
          {"shape", one.shape},
          {"op", one.op},
          {"device", one.device},
          {"candidates", one.num_candidates}};
}

void read(const ordered_json& object, ReportUndecided& one) {
  object.at("problem").get_to(one.problem);
  object.at("shape").get_to(one.shape);
  object.at("op").get_to(one.op);
  object.at("device").get_to(one.device);
  object.at("candidates").get_to(one.num_candidates);
}

ordered_json json_of(const ReportFailure& one) {
  return {{"status", name(one.status)}, {"solver", one.solver},   {"count", one.count},
          {"candidate", one.candidate}, {"problem", one.problem}, {"detail", one.detail}};
}

void read(const ordered_json& object, ReportFailure& one) {
  const auto status = parse_status(object.at("status").get<std::string>());
  if (!status) fail(ErrorCode::invalid_input, "a status that this program does not know");
  one.status = *status;
  object.at("solver").get_to(one.solver);
  object.at("count").get_to(one.count);
  object.at("candidate").get_to(one.candidate);
  object.at("problem").get_to(one.problem);
  object.at("detail").get_to(one.detail);
}

ordered_json json_of(const ReportProgress& one) {
  return {{"problem", one.problem}, {"device", one.device}, {"best", one.best}};
}

void read(const ordered_json& object, ReportProgress& one) {
  object.at("problem").get_to(one.problem);
  object.at("device").get_to(one.device);
  object.at("best").get_to(one.best);
}

ordered_json json_of(const ReportNoise& one) {
  return {{"begin_ms", one.begin_ms},
          {"width_ms", one.width_ms},
          {"samples", one.num_samples},
          {"dirty", one.num_dirty},
          {"measurements", one.num_measurements},
          {"noisy", one.num_noisy}};
}

void read(const ordered_json& object, ReportNoise& one) {
  object.at("begin_ms").get_to(one.begin_ms);
  object.at("width_ms").get_to(one.width_ms);
  object.at("samples").get_to(one.num_samples);
  object.at("dirty").get_to(one.num_dirty);
  object.at("measurements").get_to(one.num_measurements);
  object.at("noisy").get_to(one.num_noisy);
}

ordered_json json_of(const ReportDevice& one) {
  return {{"key", one.key},
          {"fingerprint", one.fingerprint},
          {"model", one.model},
          {"peak_gflops", one.peak_gflops},
          {"bandwidth_gbs", one.bandwidth_gbs}};
}

void read(const ordered_json& object, ReportDevice& one) {
  object.at("key").get_to(one.key);
  object.at("fingerprint").get_to(one.fingerprint);
  object.at("model").get_to(one.model);
  object.at("peak_gflops").get_to(one.peak_gflops);
  object.at("bandwidth_gbs").get_to(one.bandwidth_gbs);
}

/// A time of 0 is one that was not measured, and is left out.
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
  ordered_json object = {{"problem", change.problem},         {"shape", change.shape},
                         {"verdict", name(change.verdict)},   {"reason", change.reason},
                         {"before", json_of(change.before)},  {"after", json_of(change.after)},
                         {"default", json_of(change.untuned)}};
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
  read(object.at("default"), change.untuned);
  if (!object.contains("pairs")) return;
  object.at("speedup").get_to(change.speedup);
  change.interval = interval_of(object.at("interval"));
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
  try {
    return model_of_document(ordered_json::parse(text));
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorCode::invalid_input, "the results cannot be read, they are no report of Attune ({}): '{}'",
         shown(error.what(), 120), shown(source, 500));
  } catch (const Error& error) {
    fail(ErrorCode::invalid_input, "the results cannot be read, {}: '{}'", error.what(), shown(source, 500));
  }
}

}  // namespace attune
