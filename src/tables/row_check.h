// SPDX-License-Identifier: MIT
#pragma once
#include <iterator>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attune/problem.h"
#include "core/ban.h"
#include "core/comparison.h"
#include "core/record.h"
#include "measure/executor.h"
#include "tables/row_status.h"
#include "tuner/kernels.h"

namespace attune {

/// Result of checking a row, from best to worst. not_taken: as good as ok or loaded, but no lookup on the device takes
/// the row. unknown: correct, but no clean sample shows how fast it is. foreign: of another device, unchecked.
enum class CheckStatus : uint8_t {
  ok,
  loaded,
  not_taken,
  unknown,
  foreign,
  unusable,
  slower_than_stated,
  slower_than_baseline,
  wrong
};
inline constexpr size_t kNumCheckStatuses = 9;
std::string_view name(CheckStatus status) noexcept;

/// A row of a table or of a results file, and what its check found.
struct CheckedRow {
  size_t line = 0;
  std::string place;  ///< `t.csv:17`
  Problem problem;    ///< Normalised by check_row().
  std::string kernel;
  std::optional<std::string>
      layout;  ///< Layout of the weights, empty for plain; nothing: results in YAML, which state none.
  Requirement require = Requirement::none;  ///< Requirement that the row states of its kernel.
  std::optional<double> us;                 ///< Time that the row states.
  std::string why_not_taken;                ///< Why no lookup on the device takes the row; empty: one does.
  std::string gfx;                          ///< Architecture that a row of a table names; empty for YAML.
  int64_t num_units = 0;                    ///< `cu_num` of a row of a table.
  CheckStatus status = CheckStatus::unusable;
  std::string
      reason;  ///< Reason of the status. Set before the check: why the row is foreign, cannot be used, or is wrong.
  Comparison comparison;  ///< With the baseline; its time is 0 if the kernel was not timed.
};

/// Reads the rows of a tuned CSV, or of YAML results, with what is known of each on a device before it is run. `op`:
/// family, if the file does not tell; else empty. A row whose kernel `bans` names is not taken, nor one that another
/// row of its key beats; a row for which `can_serve` is false beats none. Adds the notices of the file to `notices`.
/// Throws invalid_input with file and line.
std::vector<CheckedRow> read_rows_to_check(const std::string& file, const std::string& op, const DeviceInfo& device,
                                           std::vector<std::string>& notices, const BanList& bans = {},
                                           const RowCheck& can_serve = {});

/// Whether the executor's device can run the kernel of a row: see check_row(). Throws nothing of attune::Error.
bool can_serve(const TableRow& row, Executor& executor, Kernels* kernels, const Tick& tick);

struct RowCheckOptions {
  CachePolicy inputs = CachePolicy::served;
  bool run = true;               ///< False: nothing is run, rows that could be are `loaded`.
  bool verify_only = false;      ///< Runs kernels for correctness only.
  double max_slowdown_pct = 10;  ///< Allowed slowdown against the baseline.
  double slower_than_pct = 25;   ///< Allowed slowdown against the time that the row states.
  Limits limits;                 ///< See InterleavedOptions::limits.
  Tick tick;                     ///< See measure/blocking_calls.h; a row that it stops has no valid result.
};

/// Checks a row on the executor's device, which it was read for: whether its kernel can run, is correct, and is as fast
/// as the baseline and as the row states, within the allowed slowdowns; what a row states that its kernel keeps is
/// verified bit by bit, and such a row may be slower than the baseline. A slow row is timed twice before it is called
/// slow. `kernels` has those that are compiled, null: none are needed; a row whose kernel is neither there nor can be
/// compiled is unusable. Throws nothing of attune::Error: what fails makes the row unusable.
void check_row(CheckedRow& row, Executor& executor, Kernels* kernels, const RowCheckOptions& options);

/// Counts of rows by status.
class CheckCounts {
 public:
  void add(CheckStatus status) { ++counts_[static_cast<size_t>(status)]; }
  size_t all() const { return std::accumulate(std::begin(counts_), std::end(counts_), size_t{0}); }
  size_t of(CheckStatus status) const { return counts_[static_cast<size_t>(status)]; }
  /// Whether a row is wrong or slow.
  bool is_suspect() const;
  /// Whether at least one row of this device could be checked.
  bool is_checked() const {
    return of(CheckStatus::ok) + of(CheckStatus::loaded) + of(CheckStatus::not_taken) + of(CheckStatus::unknown) > 0 ||
           is_suspect();
  }
  /// Whether a check succeeds: at least one row could be checked, none is wrong or slow, and none of this device is
  /// unusable, since such a row serves nobody; if `strict`, none is unknown either.
  bool passed(bool strict = false) const {
    if (!is_checked()) return false;
    const bool are_all_usable = of(CheckStatus::unusable) == 0;
    return are_all_usable && !is_suspect() && !(strict && of(CheckStatus::unknown) > 0);
  }
  /// Returns the counts as text, such as `3 ok, 1 wrong`.
  std::string text() const;

 private:
  size_t counts_[kNumCheckStatuses] = {};
};

}  // namespace attune
