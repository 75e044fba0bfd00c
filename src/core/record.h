// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "core/binary.h"
#include "core/candidate.h"
#include "core/outcome.h"

namespace attune {

/// The components a result depends on, by name: `onednn.gemm` → `1+2.6.3`, `openblas.core` → `SkylakeX`.
/// A name that starts with `driver.`, `compiler.`, `kernel.` (the hash of a solver's own sources) or `build.` (the
/// build of a vendor's library) drifts; any other makes an older result void.
using Versions = std::map<std::string, std::string>;
enum class Age : uint8_t { current, drifted, stale };  ///< stale: void, never used.
Age compare(const Versions& recorded, const Versions& present);

enum class CachePolicy : uint8_t { cold, warm };

/// Everything about the way of measuring that makes results comparable. Two resume keys: a Record holds under any
/// search that measures in the same way, a Decision under the same search only.
struct Protocol {
  CachePolicy cache = CachePolicy::cold;
  std::string procedure = "race/1";  ///< `race/1`, or `exhaustive/1 5+101`.
  uint64_t seed = 0;
  double min_gain = 0.005;  ///< A winner must beat the baseline by this fraction.
  double err_ratio = 0.05;  ///< `--errRatio`: strictly below.
  /// What a Record depends on, one line: temperature of the operands, data, verification. What is added later stands in
  /// it only where it is not at its default, so that older lines stay valid.
  std::string measured_key() const;
  /// What a Decision depends on beside that, one line: procedure with strategy and trials, seed, required gain.
  std::string searched_key() const;
  bool operator==(const Protocol&) const = default;
};

/// Where in a contest a record was made. `verify`: the outcome of the correctness check; `screen`: left the race
/// (dropped or shortlisted); `final`: timings kept as evidence.
enum class Stage : uint8_t { verify, screen, final };
std::string_view name(Stage stage) noexcept;
std::optional<Stage> parse_stage(std::string_view text) noexcept;

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
  /// Whether a candidate that ran out of time under these would do so under `other`, too.
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
  bool dropped = false;  ///< Stage::screen only: left the race as slower.
  Outcome outcome;
  std::string fingerprint;               ///< DeviceInfo::fingerprint(); empty: an entry of schema 1, of unknown place.
  std::vector<BinaryIdentity> binaries;  ///< What was verified or timed under the candidate's name.
  Deadlines deadlines;                   ///< Of a candidate that timed out; else zero.
  bool operator==(const Record&) const = default;
};

struct Finalist {
  Candidate candidate;
  double us = 0, ratio = 1, ratio_low = 1,
         ratio_high = 1;  ///< baseline time / this one's time, with its 95 % interval.
  uint32_t num_clean = 0;
  Errors errors;  ///< Of its verification.
  std::vector<BinaryIdentity> binaries;
  bool operator==(const Finalist&) const = default;
};

/// The best candidate of a solver none of whose candidates reached the final.
struct DroppedBest {
  Candidate candidate;
  double us = 0;  ///< Median of the race, not of the final.
  uint64_t workspace_bytes = 0;
  bool operator==(const DroppedBest&) const = default;
};

/// The published row that a contest began with.
struct Incumbent {
  Candidate candidate;
  double us = 0;    ///< As the row says.
  std::string row;  ///< The table's line.
  bool operator==(const Incumbent&) const = default;
};

/// The fastest of all solvers' untuned configs.
struct BestUntuned {
  Candidate candidate;
  double us = 0;
  double ratio = 1;       ///< Its time / the winner's.
  bool screened = false;  ///< Both times are medians of the race: it was no finalist.
  bool operator==(const BestUntuned&) const = default;
};

enum class Verdict : uint8_t { faster, tie, baseline };
std::string_view name(Verdict verdict) noexcept;

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
  bool noisy = false;
  /// The budget ended the search or the confirm early, or the machine failed a candidate (no memory, a compiler that
  /// did not run): another run goes on from the records.
  bool incomplete = false;
  Deadlines deadlines;     ///< As Record's: of a run in which a candidate timed out; else zero.
  Errors errors;           ///< Of the winner.
  uint32_t num_clean = 0;  ///< Clean pairs behind the ratio.
  double winner_us = 0, baseline_us = 0, ratio = 1, ratio_low = 1, ratio_high = 1;
  uint64_t launches = 0;         ///< Spent on this problem, untimed ones included.
  uint32_t dropped_samples = 0;  ///< Taken again because the clock was low.
  std::string fingerprint;       ///< As Record's.
  uint64_t num_candidates = 0;   ///< Tried, failed ones included.
  double seconds = 0;            ///< Spent on the problem in the run that decided it.
  std::string strategy;          ///< `all`, `local` …
  std::optional<Incumbent> incumbent;
  std::vector<DroppedBest> dropped_bests;  ///< By solver.
  std::optional<BestUntuned> best_untuned;
  /// Of the winner, as verified; empty for a library's.
  const std::vector<BinaryIdentity>& winner_binaries() const;
  bool operator==(const Decision&) const = default;
};

/// Taken out of quarantine by hand.
struct Pardoned {
  std::string device;
  Candidate candidate;
  bool operator==(const Pardoned&) const = default;
};

/// A verb that measures has begun. Its entries carry the run's number.
struct RunBegin {
  std::vector<std::string> command;  ///< The arguments, the program's name first.
  std::string version;               ///< Of the program.
  std::string host;
  int64_t pid = 0;
  std::string device, fingerprint, description;    ///< Of DeviceInfo.
  std::map<std::string, std::string> environment;  ///< Variables that libraries and Attune read.
  bool operator==(const RunBegin&) const = default;
};

/// It has ended; a run without one was killed.
struct RunEnd {
  std::string ending;       ///< `done`, `failed`, `interrupted`.
  int64_t exit_status = 0;  ///< -1: unknown, an error ended it.
  Versions versions;        ///< Of all solvers that took part.
  bool operator==(const RunEnd&) const = default;
};

}  // namespace attune
