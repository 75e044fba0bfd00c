// SPDX-License-Identifier: MIT
#include "dispatch/plans/resolver.h"

#include <fmt/format.h>

#include "base/error.h"
#include "core/candidate.h"
#include "dispatch/table/key_problem.h"
#include "ops/op.h"

namespace attune {

PlanMaker::PlanResult Resolver::make(const Problem& problem, const PlanRequest& wanted) {
  if (!wanted.candidate.empty())
    return maker_.make(problem, wanted.candidate, wanted.layouts.empty() ? kPlainLayout : wanted.layouts.front(),
                       required_);
  return wanted.layouts.empty() ? maker_.make_default(problem, required_)
                                : maker_.make_default(problem, wanted.layouts, required_);
}

/// Sets a cached plan or makes one; returns false if none can be made. The name includes the layouts, so that a plan is
/// never used for weights in another layout than it was made for, and the units, which limit the threads of default
/// configs.
bool Resolver::set_plan(const Problem& problem, const PlanRequest& wanted, Resolution& answer, std::string& why_not) {
  const bool has_bans = wanted.bans != nullptr && !wanted.bans->empty();
  const Ban* const ban = has_bans ? wanted.bans->find(wanted.candidate, maker_.device().key(), problem.key()) : nullptr;
  if (ban != nullptr) {
    why_not = "its kernel " + ban_clause(*ban);
    return false;
  }
  PlanCache::Name name(problem.key(), fmt::format("{}\n{}", maker_.device().num_units, wanted.candidate));
  for (const std::string& layout : wanted.layouts) name.second += '\n' + layout;
  // Bans change the default config.
  if (wanted.candidate.empty() && has_bans) name.second += '\n' + wanted.bans->text();
  CachedPlan* plan = plans_.find(name);
  if (plan == nullptr || !maker_.may_serve(plan->kernels)) {
    PlanMaker::PlanResult fresh = make(problem, wanted);
    why_not = std::move(fresh.why_not);
    if (fresh.kernel_failed && answer.compiler_error.empty()) answer.compiler_error = why_not;
    if (answer.missing.empty() && !fresh.missing.empty()) {
      answer.missing = std::move(fresh.missing);
      answer.wanted = wanted.candidate.empty() ? fresh.default_config : std::string(wanted.candidate);
    }
    if (!fresh.plan) {
      answer.refusal.code = fresh.code;
      return false;
    }
    // A plan that may not serve stays under its name, because a thread may hold it.
    if (plan != nullptr) {
      for (const CommonKernel& one : fresh.kernels) name.second += '\n' + one.toolchain;
      plan = plans_.find(name);
    }
    if (plan == nullptr) {
      plan = plans_.insert(name, std::move(fresh.plan), fresh.drifted, fresh.layout);
      plan->default_config = std::move(fresh.default_config);
      plan->kernels = std::move(fresh.kernels);
    }
  }
  answer.plan = plan;
  answer.hit.plan = plan->plan.get();
  answer.hit.drifted = plan->drifted;
  answer.hit.layout = plan->layout;
  return true;
}

Resolution Resolver::resolve(const Problem& problem, const Candidate& candidate) {
  Resolution answer;
  answer.operands = OperandList(op_of(problem).tensors(problem));
  // Who names a candidate gets it, banned or not.
  set_plan(problem, {candidate.name(), {}, nullptr}, answer, answer.why_not);
  return answer;
}

Resolution Resolver::resolve(const KeyCodes& codes, const RowIndex& rows, const LookupRequest& request,
                             double max_regret) {
  Resolution answer;
  const Key& key = request.key;
  const Problem read = problem_to_compute(codes, key);
  const Op* known = find_op(codes.family().op);
  if (known == nullptr) {
    answer.why_not = fmt::format("this build does not compute {}", codes.family().op);
    return answer;
  }
  const Problem problem = known->normalise(read, maker_.device());
  answer.operands = OperandList(known->tensors(problem));
  if (codes.is_packed(key) && request.layouts == nullptr) {
    // A key does not tell the layout of its weights, so no kernel may read them.
    fail(ErrorCode::invalid_input,
         "a key of weights packed ahead needs them beside it, pack them and pass them with the key: {}", problem.key());
  }
  std::vector<GroupKey> groups;
  std::span<const std::string> layouts;
  if (request.layouts == nullptr) {
    groups.push_back(codes.group_key(key));
  } else {
    layouts = request.layouts->names;
    groups = request.layouts->group_keys(codes, key);
  }
  maker_.set_bans(rows.bans());
  bool has_rows = false;
  visit_rows<LayoutSet::kMax>(
      rows, codes.m_of(key), codes.n_of(key), codes.pads_m(), groups, max_regret, [&](const MatchedRow& met) {
        has_rows = true;
        const RowIndex::Row& row = rows.row(met.number);
        const auto layout = layouts.empty() ? layouts : layouts.subspan(met.layout, 1);
        const std::string_view kernel = rows.kernel_name(row);
        std::string why_not = "it names no kernel";
        const bool has_plan = !kernel.empty() && set_plan(problem, {kernel, layout, rows.bans()}, answer, why_not);
        answer.hit.match = met.match;
        answer.hit.row = met.number;
        answer.hit.regret_percent = percent_of(met.regret);
        answer.hit.layout = met.layout;
        // Results would change when the kernel takes over from a stand-in, so under a requirement no stand-in serves.
        const bool may_wait = required_ == Requirement::none || maker_.compiles();
        if (has_plan || (!kernel.empty() && !answer.missing.empty() && may_wait)) return true;
        answer.missing.clear();
        if (!answer.compiler_error.empty() && answer.lacking_row == 0) answer.lacking_row = met.number;
        log_.say(fmt::format("{}: the row does not serve {}: {}", rows.where(row), problem.key(), why_not));
        answer.hit = {};
        return false;
      });
  if (answer.hit.plan != nullptr) return answer;
  if (required_ == Requirement::batch_invariant && has_rows && answer.hit.row == 0) {
    answer.why_not = "the kernel that its weight's rows name cannot be made, and another one would change the results";
    return answer;
  }
  if (required_ != Requirement::none && answer.hit.row != 0) {
    answer.hit.is_stand_in = true;
    answer.why_not = "its kernel is not compiled yet";
    return answer;
  }
  if (answer.hit.row != 0) answer.lacking_row = answer.hit.row;
  answer.hit.kernel_failed = answer.hit.row == 0 && answer.lacking_row != 0;
  set_plan(problem, {{}, layouts, rows.bans()}, answer, answer.why_not);
  answer.hit.is_stand_in = answer.hit.row != 0 || (answer.hit.plan == nullptr && !answer.missing.empty());
  return answer;
}

}  // namespace attune
