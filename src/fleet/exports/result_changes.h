// SPDX-License-Identifier: MIT
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/csv/csv_document.h"
#include "formats/find_db/find_db.h"
#include "formats/kernel_db/kernel_db.h"
#include "formats/perf_db/perf_db.h"

namespace attune {

/// How the result of one key differs between two sets. faster, slower: by more than kChangePct; changed: another winner
/// or other parameters without such a difference.
struct ResultChange {
  enum class Kind : uint8_t { slower, missing, changed, faster, added };
  Kind kind = Kind::changed;
  std::string key;
  std::string what;             ///< `a.conv 0.5 ms → b.conv 0.4 ms`, or why a key is missing.
  std::optional<double> ratio;  ///< old time / new time.
};
inline constexpr std::array<std::string_view, 5> kResultChangeNames = {"slower", "missing", "changed", "faster",
                                                                       "added"};
inline std::string_view name(ResultChange::Kind kind) noexcept { return kResultChangeNames[static_cast<size_t>(kind)]; }

/// Times that differ by less are equal: two runs of one kernel do.
inline constexpr double kChangePct = 5;

struct ResultChanges {
  std::vector<ResultChange> changes;  ///< By kind, then in the order of their set.
  size_t num_same = 0;

  size_t count(ResultChange::Kind kind) const noexcept;
  /// Adds a key that both sets have. `before` and `after` name the winners; times in one unit; 0: unknown.
  void compare(std::string key, const std::string& before, double old_time, const std::string& after, double new_time,
               std::string_view unit);
  void sort();
  /// `1 slower, 2 missing, 7 the same`
  std::string summary() const;
};

/// Why a key is not in the new file; called for missing keys alone.
using WhyMissing = std::function<std::string(const std::string& key)>;

/// Compare what a file held with its new content: best entries of a find-db, rows of a perf-db, kernels, and rows of a
/// table of `conv`.
ResultChanges changes_of(const FindDb& before, const FindDb& after, const WhyMissing& why_missing);
ResultChanges changes_of(const PerfDb& before, const PerfDb& after, const WhyMissing& why_missing);
ResultChanges changes_of(const KernelDb& before, const KernelDb& after);
ResultChanges changes_of(const CsvDocument& before, const CsvDocument& after);

}  // namespace attune
