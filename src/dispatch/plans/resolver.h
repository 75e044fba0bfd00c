// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/error.h"
#include "attune/match.h"
#include "dispatch/plans/operand_list.h"
#include "dispatch/plans/plan_cache.h"
#include "dispatch/plans/plan_maker.h"
#include "dispatch/table/key_codes.h"
#include "dispatch/table/matched_rows.h"
#include "dispatch/table/row_index.h"
#include "dispatch/table/weights_layouts.h"
#include "dispatch/threads/dispatch_log.h"

namespace attune {

/// Why a problem is not computed: the error that callers of require() get.
struct Refusal {
  ErrorCode code = ErrorCode::unavailable;
  std::string why;
};

/// The answer to a problem, and the kernels to compile for a better one.
struct Resolution {
  Hit hit;
  std::vector<CompileTask> missing;
  std::string wanted;          ///< Candidate that `missing` is of.
  uint32_t lacking_row = 0;    ///< If hit.is_stand_in or hit.kernel_failed: the row whose kernel is not there.
  std::string compiler_error;  ///< If hit.kernel_failed: the end of a sentence, `its kernel cannot be compiled: …`.
  std::string why_not;         ///< If no plan: the reason.
  Refusal refusal;             ///< If no plan: the error; the caller that serves the answer sets the sentence.
  CachedPlan* plan = nullptr;  ///< The entry that owns hit.plan.
  OperandList operands;        ///< Of the problem.
};

/// Makes answers: tries the rows that match a lookup until a plan of one can be made, else the default config. Not
/// thread-safe.
class Resolver {
 public:
  /// `plans`: cache of the plans. `log`: receives messages about rows that do not serve. All must outlive this.
  /// `required`: what every plan must state.
  Resolver(PlanMaker& maker, PlanCache& plans, DispatchLog& log, Requirement required)
      : maker_(maker), plans_(plans), log_(log), required_(required) {}

  /// Throws invalid_input for a key that is no problem of its op.
  Resolution resolve(const KeyCodes& codes, const RowIndex& rows, const LookupRequest& request, double max_regret);
  /// Resolves one candidate of a normalised problem, regardless of tables. If no plan: `refusal` has the error code of
  /// why_not.
  Resolution resolve(const Problem& problem, const Candidate& candidate);

 private:
  /// A request for a plan: of a candidate (empty: the default config), for weights in one of some layouts.
  struct PlanRequest {
    std::string_view candidate;
    std::span<const std::string> layouts;  ///< One for a candidate; empty: plain.
    std::shared_ptr<const BanList> bans;   ///< Null: nothing is banned.
  };
  PlanMaker::PlanResult make(const Problem& problem, const PlanRequest& wanted);
  bool set_plan(const Problem& problem, const PlanRequest& wanted, Resolution& answer, std::string& why_not);

  PlanMaker& maker_;
  PlanCache& plans_;
  DispatchLog& log_;
  const Requirement required_;
};

}  // namespace attune
