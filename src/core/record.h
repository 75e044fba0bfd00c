// SPDX-License-Identifier: MIT
#pragma once
#include <map>
#include <string>
#include <vector>

#include "attune/problem.h"
#include "core/candidate.h"
#include "core/outcome.h"

namespace attune {

/// The components a result depends on, by name: `onednn.gemm` → `1+2.6.3`, `openblas.core` → `SkylakeX`.
/// A name that starts with `driver.`, `compiler.` or `kernel.` drifts; any other makes an older result void.
using Versions = std::map<std::string, std::string>;
enum class Age : uint8_t { current, drifted, stale };  ///< stale: void, never used.
Age compare(const Versions& recorded, const Versions& present);

enum class CachePolicy : uint8_t { cold, warm };

/// Everything about the way of measuring that makes results comparable; part of the resume key.
struct Protocol {
  CachePolicy cache = CachePolicy::cold;
  std::string procedure = "race/1";  ///< `race/1`, or `exhaustive/1 5+101`.
  uint64_t seed = 0;
  double min_gain = 0.005;  ///< A winner must beat the baseline by this fraction.
  double err_ratio = 0.05;  ///< `--errRatio`: strictly below.
  std::string key() const;  ///< One line, for the journal.
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
  bool operator==(const Started&) const = default;
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
  bool operator==(const Record&) const = default;
};

struct Finalist {
  Candidate candidate;
  double us = 0, ratio = 1, ratio_low = 1,
         ratio_high = 1;  ///< baseline time / this one's time, with its 95 % interval.
  uint32_t num_clean = 0;
  Errors errors;  ///< Of its verification.
  bool operator==(const Finalist&) const = default;
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
  bool incomplete = false;  ///< The budget ended the search or the confirm early: another run goes on from the records.
  Errors errors;            ///< Of the winner.
  uint32_t num_clean = 0;   ///< Clean pairs behind the ratio.
  double winner_us = 0, baseline_us = 0, ratio = 1, ratio_low = 1, ratio_high = 1;
  uint64_t launches = 0;         ///< Spent on this problem, untimed ones included.
  uint32_t dropped_samples = 0;  ///< Taken again because the clock was low.
  bool operator==(const Decision&) const = default;
};

/// Taken out of quarantine by hand.
struct Pardoned {
  std::string device;
  Candidate candidate;
  bool operator==(const Pardoned&) const = default;
};

}  // namespace attune
