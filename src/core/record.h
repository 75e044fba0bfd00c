// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "attune/requirement.h"
#include "core/binary.h"
#include "core/candidate.h"
#include "core/comparison.h"
#include "core/outcome.h"

namespace attune {

/// Versions of the components that a result depends on, by name: `onednn.gemm` → `1+2.6.3`, `openblas.core` →
/// `SkylakeX`. A change of a component drifts older results if its name starts with `driver.`, `compiler.`, `kernel.`
/// (hash of a solver's own sources) or `build.` (build of a vendor's library); any other change makes them stale.
using Versions = std::map<std::string, std::string>;
enum class Age : uint8_t { current, drifted, stale };  ///< stale: invalid, never used.
Age compare(const Versions& recorded, const Versions& present);

/// Temperature of the operands before a timed launch. cold: none is in a cache. warm: all are, if they fit. served: as
/// a model's layers leave them, the weights cold, activations and output where the launch before has touched them.
enum class CachePolicy : uint8_t { cold, warm, served };
inline constexpr std::array<std::string_view, 3> kCachePolicyNames = {"cold", "warm", "served"};
std::string_view name(CachePolicy policy) noexcept;
/// Parses a name. Throws invalid_input for another text.
CachePolicy parse_cache_policy(std::string_view text);

/// Values of the operands while a candidate is timed, by the names of Triton's tuning script: N(0,1); uniform between
/// −0.5 and 0.5, as HPL has them; the sine of the element's place; zeros. Verification has values of its own.
enum class TimedValues : uint8_t { randn, hpl, trig_float, zeros };
inline constexpr std::array<std::string_view, 4> kTimedValuesNames = {"randn", "hpl", "trig_float", "zeros"};
std::string_view name(TimedValues values) noexcept;
/// Parses a name. Throws invalid_input for another text.
TimedValues parse_timed_values(std::string_view text);

/// All parameters of measuring that make results comparable. It has two keys for reuse: a Record is valid under any
/// search that measures in the same way, a Decision only under the same search.
struct Protocol {
  CachePolicy cache = CachePolicy::served;
  std::string procedure = "race/6";  ///< `race/6`, or `exhaustive/1 5+101`.
  uint64_t seed = 0;
  double min_gain = 0.005;  ///< Minimum gain of a winner over the baseline, as a fraction.
  double err_ratio = 0.05;  ///< `--errRatio`: exclusive upper bound.
  /// Requirement that a winner must meet. It belongs to both keys: a candidate is verified for it, and a Decision is
  /// made under it.
  Requirement require = Requirement::none;
  /// How candidates are timed on the device, if their plans can be timed so (DeviceKind::timing).
  Timing timing = Timing::clock;
  /// How candidates are verified. 1, of earlier versions: without NaN and Inf; these are verified again.
  uint32_t checks = 2;
  TimedValues values = TimedValues::randn;
  /// Everything a Record depends on, in one line: temperature of the operands, data, verification, graphs. A field
  /// added later appears only if it is not at its default, so that older lines stay valid.
  std::string measured_key() const;
  /// Everything else a Decision depends on, in one line: procedure with strategy and trials, seed, required gain.
  std::string searched_key() const;
  bool operator==(const Protocol&) const = default;
};

/// Stage of a contest in which a record was made. `verify`: the outcome of the correctness check; `screen`: the
/// candidate left the race (dropped or shortlisted); `final`: timings kept as evidence.
enum class Stage : uint8_t { verify, screen, final };
std::string_view name(Stage stage) noexcept;
std::optional<Stage> parse_stage(std::string_view text) noexcept;

/// Says that a candidate was begun. Written while its worker loads it, before anything else of it; without a Record of
/// the candidate behind it, it is the trace of a death of the program or the machine.
struct Started {
  Problem problem;
  std::string device;
  Candidate candidate;
  Versions versions;
  std::string fingerprint;
  bool operator==(const Started&) const = default;
};

/// Deadlines of a candidate, in milliseconds; 0: none.
struct Deadlines {
  int64_t load_ms = 0, run_ms = 0;
  /// Whether a candidate that timed out under these deadlines would also time out under `other`.
  bool cover(const Deadlines& other) const noexcept;
  bool operator==(const Deadlines&) const = default;
};

struct Record {
  Problem problem;
  std::string device;  ///< DeviceInfo::key().
  Candidate candidate;
  Versions versions;
  Protocol protocol;
  Stage stage = Stage::verify;
  bool dropped = false;  ///< Stage::screen only: the candidate left the race because it was slower.
  Outcome outcome;
  std::string fingerprint;               ///< DeviceInfo::fingerprint(); empty: an entry of schema 1, its machine is
                                         ///< unknown.
  std::vector<BinaryIdentity> binaries;  ///< Binaries verified or timed under the candidate's name.
  Deadlines deadlines;                   ///< Deadlines in force if the candidate timed out; else zero.
  std::vector<BinaryMetadata> metadata;  ///< compiler_reports() of the binaries; empty in an entry of an older version.
  std::string device_id;                 ///< DeviceInfo::id; empty in an entry of an older version.
  bool operator==(const Record&) const = default;
};

struct Finalist {
  Candidate candidate;
  Comparison comparison;  ///< With the baseline.
  Errors errors;          ///< Errors found by its verification.
  std::vector<BinaryIdentity> binaries;
  /// True if it was proven faster than every library's default config on samples that did not choose it: the winner of
  /// a contest that is `faster`, and perhaps the best of other layouts.
  bool confirmed = false;
  std::vector<BinaryMetadata> metadata;  ///< As in its Record.
  /// Its place in the space of its solver, as it was when it was measured. Nothing: it has none
  /// (solver/candidate_number.h), or the entry is of an older version.
  std::optional<uint64_t> number = std::nullopt;
  uint64_t workspace_bytes = 0;  ///< 0 in an entry of an older version, too.
  bool operator==(const Finalist&) const = default;
};

/// The best candidate of a solver that has no candidate in the final.
struct DroppedBest {
  Candidate candidate;
  double us = 0;  ///< Median in the race.
  uint64_t workspace_bytes = 0;
  bool operator==(const DroppedBest&) const = default;
};

/// The published row at the start of a contest.
struct Incumbent {
  Candidate candidate;
  double us = 0;    ///< Time that the row states.
  std::string row;  ///< The row's line in the table.
  bool operator==(const Incumbent&) const = default;
};

/// The fastest default config of the baseline and all libraries.
struct BestDefault {
  Candidate candidate;
  double us = 0;
  double ratio = 1;       ///< Its time / the winner's time.
  bool screened = false;  ///< Both times are medians of the race, because it was not a finalist.
  bool operator==(const BestDefault&) const = default;
};

/// How the winner compares with the baseline. faster: proven faster; tie: not proven, so the baseline wins; baseline:
/// the baseline is the fastest; required: not proven faster, yet it wins because the baseline does not meet what is
/// required; no_default: the winner was found in the same way, but the baseline is one of Attune's own kernels
/// (gives_default()), because no library serves the problem. A gain over it says nothing.
enum class Verdict : uint8_t { faster, tie, baseline, required, no_default };
inline constexpr std::array<std::string_view, 5> kVerdictNames = {"faster", "tie", "baseline", "required",
                                                                  "no_default"};
std::string_view name(Verdict verdict) noexcept;
std::optional<Verdict> parse_verdict(std::string_view text) noexcept;

/// The claim about one problem on one device.
struct Decision {
  Problem problem;
  std::string device;
  Protocol protocol;
  Candidate winner, baseline;
  Versions versions;
  std::vector<Finalist> finalists;
  std::vector<Candidate> tied;
  Verdict verdict = Verdict::baseline;
  std::string reason;  ///< Why what looked faster is not called so; empty: for no special reason, or it is.
  bool noisy = false;
  /// The budget ended the search or the confirm early, or the machine failed a candidate (no memory, a compiler that
  /// did not run). Another run continues from the records.
  bool incomplete = false;
  Deadlines deadlines;    ///< Deadlines in force if a candidate timed out in the run; else zero.
  Errors errors;          ///< Errors of the winner.
  Comparison comparison;  ///< Comparison of the winner with the baseline.
  double baseline_us = 0;
  /// Bandwidth measured for the working set of the timed launches; 0: unknown, as in entries of older versions.
  double bandwidth_gbs = 0;
  Timing timing = Timing::clock;  ///< Timing of all finalists from the finals on.
  /// Number of fresh workers that the comparison is from; 0: from the samples that chose the winner.
  uint32_t num_openings = 0;
  /// The budget left no time for the pause before the confirm, so the samples that chose the winner and those that
  /// confirmed it are closer in time than they should be.
  bool pause_cut = false;
  uint64_t launches = 0;         ///< Launches for this problem, untimed ones included.
  uint32_t dropped_samples = 0;  ///< Samples repeated because the clock was low.
  std::string fingerprint;       ///< DeviceInfo::fingerprint(); empty: an entry of schema 1.
  uint64_t num_candidates = 0;   ///< Candidates tried, failed ones included.
  double seconds = 0;            ///< Time spent on the problem in the run that decided it.
  std::string strategy;          ///< `all`, `local` …
  std::optional<Incumbent> incumbent;
  std::vector<DroppedBest> dropped_bests;  ///< By solver.
  std::optional<BestDefault> best_default;
  std::string device_id;  ///< DeviceInfo::id; empty in an entry of an older version.
  /// Binaries of the winner, as verified; empty for a library's candidate.
  const std::vector<BinaryIdentity>& winner_binaries() const;
  /// Finalist::number of the winner.
  std::optional<uint64_t> winner_number() const;
  bool has_default() const noexcept { return verdict != Verdict::no_default; }
  /// The comparison to show: the winner's with the default. Its ratio is unknown (0) without a default.
  Comparison over_default() const noexcept;
  /// The default's time; 0: there is no default.
  double default_us() const noexcept { return has_default() ? baseline_us : 0; }
  bool operator==(const Decision&) const = default;
};

/// Whether it leaves its problem undecided: a tie whose search or confirm was not completed. The baseline stays, and
/// another run continues.
bool is_unfinished_tie(const Decision& decision) noexcept;

/// A candidate removed from quarantine by hand.
struct Pardon {
  std::string device;
  Candidate candidate;
  bool operator==(const Pardon&) const = default;
};

/// The start of a command that measures. Its entries carry the run's number.
struct RunBegin {
  std::vector<std::string> command;  ///< The arguments, the program's name first.
  std::string version;               ///< Version of the program.
  std::string host;
  int64_t pid = 0;
  std::string device, fingerprint, description;    ///< Facts of DeviceInfo.
  std::map<std::string, std::string> environment;  ///< Variables that libraries and Attune read.
  /// Problems that the run is to decide, those included that an earlier run has decided; 0: unknown.
  uint64_t num_problems = 0;
  bool operator==(const RunBegin&) const = default;
};

/// The end of a run; a run without one was killed.
struct RunEnd {
  std::string ending;       ///< `done`, `failed`, `interrupted`.
  int64_t exit_status = 0;  ///< -1: unknown, because an error ended the run.
  Versions versions;        ///< Versions of all solvers that took part.
  bool operator==(const RunEnd&) const = default;
};

}  // namespace attune
