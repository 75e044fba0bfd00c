// SPDX-License-Identifier: MIT
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attune/dispatcher.h"
#include "attune/error.h"
#include "dispatch/dispatch_log.h"
#include "dispatch/key_codes.h"
#include "dispatch/plan_maker.h"
#include "dispatch/row_index.h"
#include "dispatch/weights_layouts.h"

namespace attune {

/// Why a problem is not computed: the error that who requires it gets.
struct Refusal {
  ErrorCode code = ErrorCode::unavailable;
  std::string why;
};

/// What a problem is answered with, and what must be compiled for a better answer.
struct Answer {
  Hit hit;
  std::vector<CompileTask> missing;
  std::string why_not;        ///< No plan.
  Refusal refusal;            ///< No plan; the sentence is set by who serves the answer.
  std::unique_ptr<Plan> own;  ///< hit.plan, when there was no room to keep it.
};

/// Makes answers: walks the rows that a lookup meets until the plan of one can be made, else the untuned one. Plans are
/// kept for ever, up to a number. One thread at a time.
class Answers {
 public:
  /// `log`: where rows that do not serve are said; outlives this.
  Answers(PlanMaker& maker, DispatchLog& log, size_t most_plans) : maker_(maker), log_(log), most_plans_(most_plans) {}

  /// Throws invalid_input for a key that is no problem of its op.
  Answer make(const KeyCodes& codes, const RowIndex& rows, const Asked& asked, double most_regret);
  /// Of one candidate of a normalised problem, whatever tables say. No plan: `refusal` says of what kind why_not is.
  Answer make(const Problem& problem, const Candidate& candidate);

  /// No room for more plans. Any thread.
  bool is_full() const noexcept { return is_full_.load(std::memory_order_relaxed); }
  uint64_t num_plans() const noexcept { return num_plans_.load(std::memory_order_relaxed); }  ///< Any thread.

 private:
  struct Kept {
    std::unique_ptr<Plan> plan;
    bool drifted = false;
    uint8_t layout = 0;  ///< Of an untuned one.
  };
  /// What a plan is wanted of: a candidate, or nothing for the untuned one, for weights in one of some layouts.
  struct Wanted {
    std::string_view candidate;
    std::span<const std::string> layouts;  ///< One for a candidate; none: plain.
  };
  const Plan* plan_of(const Problem& problem, const Wanted& wanted, Answer& answer, std::string& why_not);

  PlanMaker& maker_;
  DispatchLog& log_;
  const size_t most_plans_;
  std::map<std::pair<std::string, std::string>, Kept> plans_;  ///< By the problem's key and what is wanted.
  std::atomic<bool> is_full_{false};
  std::atomic<uint64_t> num_plans_{0};
};

}  // namespace attune
