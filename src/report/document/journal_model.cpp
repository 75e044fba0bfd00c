// SPDX-License-Identifier: MIT
#include "report/document/journal_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "ops/op.h"
#include "report/document/noise_buckets.h"
#include "report/journal_listing.h"
#include "report/kernel_speed.h"
#include "report/result_table.h"

namespace attune {
namespace {

/// A compiler's message may have megabytes; a report needs its beginning.
constexpr size_t kMaxDetail = 2000, kMaxImprovements = 64;

using Place = std::pair<std::string, std::string>;  // Problem, device.

/// By fingerprint.
using KnownDevices = std::map<std::string, const DeviceInfo*>;

/// Work of a problem; nothing for an op or attributes of another build.
std::optional<Work> work_of(const Problem& problem) {
  const Op* op = find_op(problem.op());
  if (op == nullptr) return std::nullopt;
  try {
    return op->work(problem);
  } catch (const Error&) {
    return std::nullopt;
  }
}

int64_t rows_or_0(const Problem& problem) {
  try {
    return std::max<int64_t>(0, rows_of(problem).value_or(0));
  } catch (const Error&) {
    return 0;
  }
}

/// JSON has no form for a number that is not finite.
double finite(double value) { return std::isfinite(value) ? value : 0; }

ReportDecision report_of(const Decision& decision, const Stamp& stamp, const KnownDevices& devices) {
  const Comparison compared = decision.over_default();
  ReportDecision one{.problem = decision.problem.key(),
                     .shape = short_shape(decision.problem),
                     .op = std::string(decision.problem.op()),
                     .device = decision.device,
                     .fingerprint = decision.fingerprint,
                     .m = rows_or_0(decision.problem),
                     .winner = decision.winner.name(),
                     .baseline = decision.has_default() ? decision.baseline.name() : "",
                     .solver = decision.winner.solver,
                     .verdict = decision.verdict,
                     .noisy = decision.noisy,
                     .incomplete = decision.incomplete,
                     .winner_us = finite(compared.us),
                     .default_us = finite(decision.default_us()),
                     .ratio = finite(compared.ratio),
                     .interval = {finite(compared.interval.low), finite(compared.interval.high)},
                     .wrong_share = finite(decision.errors.mismatch_ratio),
                     .num_candidates = decision.num_candidates,
                     .seconds = finite(decision.seconds),
                     .run = stamp.run,
                     .at_ms = stamp.at_ms};
  const auto work = work_of(decision.problem);
  if (!work || !(one.winner_us > 0)) return one;
  one.flops = work->flops;
  one.bytes = work->bytes;
  one.arithmetic = name(work->arithmetic);
  Measurement measured;
  measured.median_us = one.winner_us;
  measured.bandwidth_gbs = decision.bandwidth_gbs;
  if (const auto device = devices.find(decision.fingerprint); device != devices.end())
    one.of_roofline = kernel_speed(measured, *work, *device->second, 0).of_roofline;
  return one;
}

/// The best time of a problem as candidates are tried.
class BestTime {
 public:
  void add(const Outcome& outcome) {
    ++num_evaluations_;
    if (!outcome.ok() || !outcome.measurement || !(outcome.measurement->median_us > 0)) return;
    const double us = outcome.measurement->median_us;
    if (!best_.empty() && us >= best_.back().second) return;
    if (best_.size() + 1 < kMaxImprovements)
      best_.emplace_back(num_evaluations_, us);
    else
      best_.back() = {num_evaluations_, us};
  }
  uint64_t num_evaluations() const { return num_evaluations_; }
  std::vector<std::pair<uint64_t, double>> take() {
    if (!best_.empty() && best_.back().first < num_evaluations_)
      best_.emplace_back(num_evaluations_, best_.back().second);
    return std::move(best_);
  }

 private:
  uint64_t num_evaluations_ = 0;
  std::vector<std::pair<uint64_t, double>> best_;
};

std::optional<Problem> parsed_if_valid(const std::string& text) {
  try {
    return Problem::parse(text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// Collects the content of entries, by kind, in the order of the journal.
class ModelCollector {
 public:
  explicit ModelCollector(const JournalModelOptions& options) : options_(options) {
    for (const DeviceInfo& device : options.devices) devices_.try_emplace(device.fingerprint(), &device);
  }

  void add(const Entry& entry, const Stamp& stamp) {
    if (const auto* decision = std::get_if<Decision>(&entry)) add(*decision, stamp);
    if (const auto* begin = std::get_if<RunBegin>(&entry)) add(*begin, stamp);
    if (const auto* end = std::get_if<RunEnd>(&entry)) add(*end, stamp);
  }

  void add(const EntryHeading& record, const Outcome& outcome) {
    if (!is_wanted(record.problem)) return;
    ++model_.num_records;
    met_.insert(record.stamp.run);
    if (outcome.measurement) noise_.add(record.stamp.at_ms, *outcome.measurement);
    // A candidate is evaluated when it fails its verification or leaves the race; its times in the final are further
    // samples of it.
    const bool has_failed = record.stage == name(Stage::verify) && !outcome.ok();
    if (has_failed || record.stage == name(Stage::screen)) best_[{record.problem, record.device}].add(outcome);
    if (!outcome.ok()) add_failure(record, outcome);
  }

  bool has_decision(const std::string& problem) const {
    const auto first = decisions_.lower_bound({problem, "", "", ""});
    return first != decisions_.end() && std::get<0>(first->first) == problem;
  }

  ReportModel take() {
    take_problems();
    take_runs();
    for (auto& [key, failure] : failures_) model_.failures.push_back(std::move(failure));
    std::ranges::stable_sort(model_.failures, std::greater(), &ReportFailure::count);
    model_.noise = noise_.pieces();
    take_devices();
    return std::move(model_);
  }

 private:
  bool is_wanted(const std::string& problem) const {
    return options_.problems.empty() || options_.problems.contains(problem);
  }

  void add_failure(const EntryHeading& heading, const Outcome& outcome) {
    ReportFailure& failure = failures_[{outcome.status, heading.solver}];
    failure.status = outcome.status;
    failure.solver = heading.solver;
    ++failure.count;
    failure.candidate = heading.candidate;
    failure.problem = heading.problem;
    failure.detail = outcome.detail.substr(0, kMaxDetail);
  }

  void add(const Decision& decision, const Stamp& stamp) {
    if (!is_wanted(decision.problem.key())) return;
    met_.insert(stamp.run);
    decisions_.insert_or_assign(std::tuple(decision.problem.key(), decision.device, decision.fingerprint,
                                           std::string(text(decision.protocol.require))),
                                report_of(decision, stamp, devices_));
  }

  void add(const RunBegin& begin, const Stamp& stamp) {
    runs_.insert_or_assign(stamp.id, ReportRun{.number = stamp.id,
                                               .begun_ms = stamp.at_ms,
                                               .command = fmt::format("{}", fmt::join(begin.command, " ")),
                                               .program_version = begin.version,
                                               .host = begin.host,
                                               .device = begin.device,
                                               .fingerprint = begin.fingerprint,
                                               .description = begin.description,
                                               .environment = begin.environment});
  }

  void add(const RunEnd& end, const Stamp& stamp) {
    const auto run = runs_.find(stamp.run);
    if (run == runs_.end()) return;
    run->second.ended_ms = stamp.at_ms;
    run->second.ending = end.ending;
    run->second.versions = end.versions;
  }

  void take_problems() {
    std::set<Place> decided;
    for (auto& [key, decision] : decisions_) {
      decided.emplace(decision.problem, decision.device);
      model_.decisions.push_back(std::move(decision));
    }
    for (auto& [place, best] : best_) {
      const auto& [problem, device] = place;
      const std::optional<Problem> parsed = parsed_if_valid(problem);
      if (!parsed) {  // A column of its records is damaged.
        ++model_.num_damaged;
        continue;
      }
      if (!decided.contains(place))
        model_.undecided.push_back(
            {problem, short_shape(*parsed), std::string(parsed->op()), device, best.num_evaluations()});
      auto steps = best.take();
      if (!steps.empty()) model_.progress.push_back({problem, device, std::move(steps)});
    }
  }

  /// With a choice of problems, runs without any of them are omitted.
  void take_runs() {
    for (auto& [number, run] : runs_) {
      if (!options_.problems.empty() && !met_.contains(number)) continue;
      ++model_.num_runs;
      model_.runs.push_back(std::move(run));
    }
    if (model_.runs.size() > kMaxReportRuns)
      model_.runs.erase(model_.runs.begin(), model_.runs.end() - static_cast<std::ptrdiff_t>(kMaxReportRuns));
  }

  void take_devices() {
    std::set<std::string> used;
    for (const ReportDecision& one : model_.decisions) used.insert(one.fingerprint);
    for (const auto& [fingerprint, device] : devices_) {
      if (!used.contains(fingerprint)) continue;
      model_.devices.push_back({device->key(), fingerprint, device->model, device->peak_gflops, device->bandwidth_gbs});
    }
  }

  const JournalModelOptions& options_;
  KnownDevices devices_;
  ReportModel model_;
  std::map<int64_t, ReportRun> runs_;
  std::set<int64_t> met_;  // Runs of the problems.
  std::map<std::tuple<std::string, std::string, std::string, std::string>, ReportDecision> decisions_;
  std::map<Place, BestTime> best_;
  std::map<std::pair<Status, std::string>, ReportFailure> failures_;
  NoiseBuckets noise_;
};

/// Adds the newest earlier decision of each wanted problem without a decision. Returns the number of damaged entries.
size_t add_earlier_decisions(const Journal& journal, const JournalModelOptions& options, ModelCollector& collector) {
  if (options.after == 0) return 0;
  size_t num_damaged = 0;
  for (const std::string& problem : options.problems) {
    if (collector.has_decision(problem)) continue;
    Query query{.problem = Problem::parse(problem), .before = options.after + 1};
    query.started = query.records = query.pardons = false;
    if (!options.device.empty()) query.device = options.device;
    const NewestDecisions newest = newest_decisions(journal, query, 1);
    for (const auto& [decision, stamp] : newest.decisions) collector.add(Entry(decision), stamp);
    num_damaged += newest.num_damaged;
  }
  return num_damaged;
}

}  // namespace

ReportModel model_of(const Journal& journal, const JournalModelOptions& options) {
  ModelCollector collector(options);
  Query query{.run = options.run, .pardons = false, .runs = true};
  query.started = query.records = false;
  query.after = options.after;
  if (!options.device.empty()) query.device = options.device;
  // Records first: a problem that is decided in between is not undecided.
  size_t num_damaged = journal.visit_outcomes(
      query, [&](const EntryHeading& record, const Outcome& outcome) { collector.add(record, outcome); });
  num_damaged += journal.scan(query, [&](const Entry& entry, const Stamp& stamp) { collector.add(entry, stamp); });
  num_damaged += add_earlier_decisions(journal, options, collector);
  ReportModel model = collector.take();
  model.num_damaged += num_damaged;
  return model;
}

}  // namespace attune
