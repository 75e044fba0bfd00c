// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/outcome.h"
#include "core/record.h"
#include "core/statistics.h"

namespace attune {

// What a report says, as plain data. Renderers are pure functions of a ReportModel: the same model gives the same
// bytes, without a clock, a host's name or a path that the model does not hold. Texts come from journals and files of
// any origin: they may be long, hold markup or bytes that are not UTF-8, and become safe where they are written
// (report/document/markup). Times are in microseconds, moments in milliseconds since 1970 (UTC), 0: unknown.

/// One execution of a command that measured.
struct ReportRun {
  int64_t number = 0, begun_ms = 0, ended_ms = 0;  ///< `ended_ms`: 0 if it was killed or still runs.
  std::string ending;                              ///< `done`, `failed`, `interrupted`; empty: without an end.
  std::string command, program_version, host;
  std::string device, fingerprint, description;
  Versions versions;  ///< Of the libraries and solvers that took part.
  std::map<std::string, std::string> environment;
  bool operator==(const ReportRun&) const = default;
};

/// The newest claim about a problem on a device.
struct ReportDecision {
  std::string problem;  ///< Problem::key().
  std::string shape;    ///< The same, short.
  std::string op, device, fingerprint;
  int64_t m = 0;  ///< FamilySpec::rows; 0: the op has none.
  std::string winner, baseline, solver;
  Verdict verdict = Verdict::baseline;
  bool noisy = false, incomplete = false;
  double winner_us = 0, default_us = 0;
  double ratio = 1;             ///< Time of the default / time of the winner.
  Interval interval;            ///< 95 %, of the ratio.
  double wrong_share = 0;       ///< Share of output elements outside the tolerance.
  double flops = 0, bytes = 0;  ///< Of one call; 0: this build does not know the op.
  std::string arithmetic;       ///< Type that is multiplied, as ReportDevice::peak_gflops names it.
  double of_roofline = 0;       ///< Share of what the device's peak and bandwidth allow; 0: unknown.
  uint64_t num_candidates = 0;  ///< Tried, failed ones included.
  double seconds = 0;           ///< Spent on the problem in the run that decided it.
  int64_t run = 0, at_ms = 0;
  bool operator==(const ReportDecision&) const = default;
};

/// A problem whose candidates were tried without a decision.
struct ReportUndecided {
  std::string problem, shape, op, device;
  uint64_t num_candidates = 0;
  bool operator==(const ReportUndecided&) const = default;
};

/// The number of failed candidates of a solver with one status, and the newest of them.
struct ReportFailure {
  Status status = Status::crashed;
  std::string solver;
  uint64_t count = 0;
  std::string candidate, problem, detail;
  bool operator==(const ReportFailure&) const = default;
};

/// How the best time of a problem fell: (evaluations so far, best time). The last pair has the number of all
/// evaluations. At most 64 pairs.
struct ReportProgress {
  std::string problem, device;
  std::vector<std::pair<uint64_t, double>> best;
  bool operator==(const ReportProgress&) const = default;
};

/// Disturbance in one piece of time.
struct ReportNoise {
  int64_t begin_ms = 0, width_ms = 0;
  uint64_t num_samples = 0, num_dirty = 0;  ///< dirty: the scheduler or a low clock disturbed the sample.
  uint64_t num_measurements = 0, num_noisy = 0;
  bool operator==(const ReportNoise&) const = default;
};

/// What bounds the speed on a device.
struct ReportDevice {
  std::string key, fingerprint, model;
  std::map<std::string, double> peak_gflops;  ///< By the type that is multiplied.
  double bandwidth_gbs = 0;                   ///< 0: unknown.
  bool operator==(const ReportDevice&) const = default;
};

/// A kernel of a compared shape.
struct ReportKernel {
  std::string candidate, row;  ///< `row`: file and line of the table; empty: none.
  double us = 0;               ///< 0: not timed.
  bool operator==(const ReportKernel&) const = default;
};

/// How a shape's time changed between two tables, from best to worst known.
enum class ReportVerdict : uint8_t { same, faster, slower, ambiguous, no_default, failed };
inline constexpr size_t kNumReportVerdicts = 6;
std::string_view name(ReportVerdict verdict) noexcept;
std::optional<ReportVerdict> parse_report_verdict(std::string_view text) noexcept;

struct ReportChange {
  std::string problem, shape;
  ReportVerdict verdict = ReportVerdict::ambiguous;
  std::string reason;
  ReportKernel before, after, baseline;
  double speedup = 0;  ///< Old time / new time; 0: nothing was measured.
  Interval interval;
  std::vector<double> attempts;
  uint64_t num_pairs = 0;
  bool operator==(const ReportChange&) const = default;
};

/// The results of one family in a pipeline.
struct ReportFamily {
  std::string family, device, fingerprint, failure;  ///< `failure`: a sentence; empty: none.
  bool is_done = false;
  uint64_t num_findings = 0, num_added = 0, num_changed = 0, num_removed = 0, num_same = 0;
  std::vector<ReportChange> changes;
  bool operator==(const ReportFamily&) const = default;
};

/// A run of `attune ci run`.
struct ReportPipeline {
  std::string ending, inputs;  ///< `inputs`: a JSON object.
  int status = 0;              ///< Exit status.
  std::vector<ReportFamily> families;
  bool operator==(const ReportPipeline&) const = default;
};

/// Entries are sorted: runs, decisions, undecided and progress by problem and device or number, failures by count.
struct ReportModel {
  std::optional<ReportPipeline> pipeline;  ///< Empty: a report on a journal.
  std::vector<ReportRun> runs;             ///< The newest, at most kMaxReportRuns.
  std::vector<ReportDecision> decisions;
  std::vector<ReportUndecided> undecided;
  std::vector<ReportFailure> failures;
  std::vector<ReportProgress> progress;
  std::vector<ReportNoise> noise;
  std::vector<ReportDevice> devices;
  uint64_t num_runs = 0, num_records = 0, num_damaged = 0;
  bool operator==(const ReportModel&) const = default;
};
inline constexpr size_t kMaxReportRuns = 100;

}  // namespace attune
