// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <string_view>

#include "attune/export.h"
#include "attune/plan.h"

namespace attune {

/// How well a row fits a problem. exact: the problem's own row; padded_*: the row of the M that the problem is padded
/// to, finely or coarsely (docs/lookups.md); predicted: a row of another M whose kernel, by the table's times, cannot
/// be much slower than the best; fallback: no row.
enum class Match : uint8_t { exact, padded_fine, padded_coarse, predicted, fallback };
ATTUNE_API std::string_view name(Match match) noexcept;

/// Default of the largest bound with which a predicted row serves: the kernel may take twice the time of the best.
inline constexpr double kDefaultMaxRegret = 1;

/// The answer for one problem. 16 bytes, so that it is returned in registers.
struct Hit {
  /// Valid until the calling thread's next call of the dispatcher; Dispatcher::keep() extends that. Null: no plan is
  /// made yet, or it was evicted (require() makes one), or no solver supports the problem.
  const Plan* plan = nullptr;
  uint32_t row = 0;  ///< A number that names the row in the tables at the time of the lookup; 0: no row.
  Match match = Match::fallback;
  /// Bound of a predicted match: at most this many percent slower than the best (docs/lookups.md); 255: 255 or more.
  uint8_t regret_percent = 0;
  uint8_t layout = 0;              ///< Index in Weights::layouts() of the layout that `plan` reads.
  bool is_stand_in : 1 = false;    ///< `plan` stands in for the row's, which is being made.
  bool drifted : 1 = false;        ///< Another compiler or driver made the row's kernel.
  bool kernel_failed : 1 = false;  ///< `plan` is a default one because the kernel of the row cannot be compiled.
};
static_assert(sizeof(Hit) == 16);

}  // namespace attune
