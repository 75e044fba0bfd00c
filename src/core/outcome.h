// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attune {

/// The result of trying a candidate. A failed candidate is data: no exception, no sentinel time.
enum class Status : uint8_t {
  ok,
  unsupported,
  compile_failed,
  load_failed,
  launch_failed,
  out_of_memory,
  wrong_result,
  implausible_time,
  timed_out,
  crashed,
  device_lost,
  cancelled
};
std::string_view name(Status status) noexcept;
std::optional<Status> parse_status(std::string_view text) noexcept;
/// Whether a failure reflects the machine's state at that moment rather than the candidate: no memory, a missing device
/// or compiler, a stop.
constexpr bool is_transient(Status status) noexcept {
  return status == Status::compile_failed || status == Status::load_failed || status == Status::out_of_memory ||
         status == Status::device_lost || status == Status::cancelled;
}

/// Whether a candidate with this status endangered its worker: it ended the worker, or ran past its deadline. Such a
/// verdict puts it into quarantine.
constexpr bool is_dangerous(Status status) noexcept { return status == Status::crashed || status == Status::timed_out; }

/// One timed turn.
struct Sample {
  float us = 0;        ///< Time of one launch; for a batch of launches, the mean.
  float clock = 0;     ///< Speed of the clock kernel run beside it, relative to its usual speed (1: usual).
  uint32_t round = 0;  ///< Samples of one round and epoch are paired.
  bool dirty = false;  ///< The scheduler or a low clock disturbed it: `is_dirty` in measure/timing.
  bool operator==(const Sample&) const = default;
};

/// Distance between an output and the reference.
struct Errors {
  double mismatch_ratio = 0;  ///< Fraction of elements outside rtol/atol: `errRatio`.
  double max_relative = 0;  ///< max |got − want| / (scale of the row's dot products), compared with a c·√K·eps bound.
  double cosine = 0;        ///< 1 − cos(got, want).
  bool operator==(const Errors&) const = default;
};

/// How a sample was timed. clock: by the processor's clock, around the calls; events: by marks in the stream, around
/// the launches; graph: by marks around the launches in a captured graph of them, which leaves out the gaps between
/// calls.
enum class Timing : uint8_t { clock, events, graph };
std::string_view name(Timing timing) noexcept;
std::optional<Timing> parse_timing(std::string_view text) noexcept;

struct Measurement {
  std::vector<Sample> samples;
  bool noisy = false;                   ///< Fewer than 3 samples were clean: all were used.
  double median_us = 0, spread_us = 0;  ///< Median and 1.4826·MAD of the samples used.
  uint64_t workspace_bytes = 0, rotation_bytes = 0;
  Timing timing = Timing::clock;
  uint32_t epoch = 0, dropped_samples = 0;
  double bandwidth_gbs = 0;  ///< Measured for this working set; 0: unknown, as in entries of older versions.
  bool operator==(const Measurement&) const = default;
};

struct Outcome {
  Status status = Status::ok;
  std::string detail;  ///< One sentence for a person; empty when ok.
  Errors errors;       ///< Errors found by the verification, if it ran.
  std::optional<Measurement> measurement;
  bool ok() const noexcept { return status == Status::ok; }
  bool operator==(const Outcome&) const = default;
};

}  // namespace attune
