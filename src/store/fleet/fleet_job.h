// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/outcome.h"
#include "core/record.h"

namespace attune {

/// What a job does with one configuration.
/// perf_compile: builds the kernels that the search of one solver begins with.
/// perf_eval:    searches one solver and leaves a short list of three.
/// perf_contest: decides between all short lists and all default configs, once no other perf job of the configuration
///               is open. It is loaded with perf_eval and claimed under that name.
/// find_compile: builds the default configs of all solvers.
/// find_eval:    decides between the default configs of all solvers.
enum class FleetStep : uint8_t { perf_compile, perf_eval, perf_contest, find_compile, find_eval };
std::string_view name(FleetStep step) noexcept;
/// Whether the step only compiles: its agents need no device.
inline bool compiles(FleetStep step) noexcept {
  return step == FleetStep::perf_compile || step == FleetStep::find_compile;
}
/// Takes the older spelling with `miopen_` in front as well.
std::optional<FleetStep> parse_fleet_step(std::string_view text) noexcept;

/// queued → leased → done | failed | excluded; leased → queued when the lease ends without a result, or an attempt
/// fails that may succeed later. failed: a wrong result, which a retry would only repeat. excluded: three counted
/// attempts failed, or the solver does not apply.
enum class JobState : uint8_t { queued, leased, done, failed, excluded };
std::string_view name(JobState state) noexcept;
std::optional<JobState> parse_job_state(std::string_view text) noexcept;

/// Whether a failure is the job's, and not one of the machine it ran on.
bool counts_as_attempt(Status failure) noexcept;
/// Whether a later attempt may end differently.
bool may_be_retried(Status failure) noexcept;
inline constexpr int kMaxAttempts = 3;

/// A job that an agent holds.
struct ClaimedJob {
  int64_t id = 0;
  int64_t session = 0;
  FleetStep step = FleetStep::perf_eval;
  std::string configuration;  ///< Id: the problem key's 128-bit hash as 32 hex digits.
  std::string problem;        ///< Canonical line, `Problem::parse()` reads it.
  std::string solver;         ///< Empty: all solvers of the session.
  int64_t token = 0;          ///< Fencing token: a commit with an older one is discarded.
  int attempt = 1;            ///< Counted attempts so far, and this one.
};

/// A candidate of a short list, and the time that its search measured.
struct ShortListRow {
  std::string solver;
  Candidate candidate;
  double us = 0;
  uint64_t workspace_bytes = 0;
};

/// A compiled kernel of a winner: what a kernel-db holds.
struct FleetKernel {
  std::string name, arguments;
  std::string bytes;  ///< As the compiler wrote them.
};

/// A candidate whose kernels an agent without their compiler did not find.
struct WantedCandidate {
  std::string solver;   ///< Whose compile job builds it.
  std::string problem;  ///< The candidate's: the job's, or a part of it. `Problem::parse()` reads it.
  Candidate candidate;
};
/// How often a compile job is queued again for wanted kernels.
inline constexpr int kMaxCompileRounds = 3;

/// What a job produced.
struct JobOutcome {
  Status status = Status::ok;            ///< Other than ok: the failure's class; see counts_as_attempt().
  std::string detail;                    ///< One sentence about a failure.
  std::vector<ShortListRow> short_list;  ///< Of perf_eval: best first.
  std::optional<Decision> decision;      ///< Of perf_contest and find_eval.
  std::vector<ShortListRow> finalists;   ///< Of perf_contest and find_eval: the best candidate of each solver, timed in
                                         ///< one contest, fastest first. What a find-db holds.
  std::vector<FleetKernel> kernels;      ///< Of the finalists.
};

}  // namespace attune
