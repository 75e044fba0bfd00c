// SPDX-License-Identifier: MIT
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attune/dispatcher.h"
#include "attune/error.h"
#include "dispatch/plans/plan_cache.h"
#include "dispatch/plans/plan_maker.h"
#include "dispatch/table/key_codes.h"
#include "dispatch/table/row_index.h"
#include "dispatch/table/weights_layouts.h"
#include "dispatch/threads/dispatch_log.h"

namespace attune {

/// Why a problem is not computed: the error that who requires it gets.
struct Refusal {
  ErrorCode code = ErrorCode::unavailable;
  std::string why;
};

/// What a problem is answered with, and what must be compiled for a better answer.
struct Resolution {
  Hit hit;
  std::vector<CompileTask> missing;
  std::string why_not;         ///< No plan.
  Refusal refusal;             ///< No plan; the sentence is set by who serves the answer.
  CachedPlan* plan = nullptr;  ///< Of hit.plan.
};

/// Makes answers: walks the rows that a lookup meets until the plan of one can be made, else the untuned one. One
/// thread at a time.
class Resolver {
 public:
  /// `plans`: where plans are kept. `log`: where rows that do not serve are said. All outlive this.
  Resolver(PlanMaker& maker, PlanCache& plans, DispatchLog& log) : maker_(maker), plans_(plans), log_(log) {}

  /// Throws invalid_input for a key that is no problem of its op.
  Resolution resolve(const KeyCodes& codes, const RowIndex& rows, const LookupRequest& request, double max_regret);
  /// Of one candidate of a normalised problem, whatever tables say. No plan: `refusal` says of what kind why_not is.
  Resolution resolve(const Problem& problem, const Candidate& candidate);

 private:
  /// What a plan is wanted of: a candidate, or nothing for the untuned one, for weights in one of some layouts.
  struct PlanRequest {
    std::string_view candidate;
    std::span<const std::string> layouts;  ///< One for a candidate; none: plain.
  };
  bool set_plan(const Problem& problem, const PlanRequest& wanted, Resolution& answer, std::string& why_not);

  PlanMaker& maker_;
  PlanCache& plans_;
  DispatchLog& log_;
};

}  // namespace attune
