// SPDX-License-Identifier: MIT
#include "attune/dispatcher.h"

#include <fmt/format.h>

#include <array>
#include <mutex>

#include "base/error.h"
#include "dispatch/dispatch_state.h"
#include "dispatch/plans/operand_list.h"
#include "dispatch/threads/library_use.h"
#include "dispatch/threads/read_guard.h"
#include "dispatch/threads/thread_workspace.h"
#include "dispatch/weights_state.h"
#include "ops/op.h"

namespace attune {
std::string_view name(Match match) noexcept {
  static constexpr std::array<std::string_view, 5> kNames = {"exact", "padded_fine", "padded_coarse", "predicted",
                                                             "fallback"};
  return kNames[static_cast<size_t>(match)];
}

void run(const Plan& plan, std::span<void* const> operands, void* stream) {
  plan.run({.operands = operands, .workspace = thread_workspace(plan), .stream = stream});
}

Dispatcher::Dispatcher(DispatcherOptions options) {
  ForkGuard::prepare();
  static std::once_flag once;
  std::call_once(once, LibraryUse::close_at_exit);
  const LibraryUse use;
  state_ = std::make_unique<State>(std::move(options));
  static std::once_flag captures;
  if (state_->capture) std::call_once(captures, ForkGuard::come_first);
}
Dispatcher::~Dispatcher() = default;

Hit Dispatcher::State::choose(const Key& key, const Weights* weights, OnMiss on_miss, OperandList* operands) noexcept {
  const KeyCodes* own = codes.find(key.op());
  if (own == nullptr) return {};
  if (!own->is_short(key)) {
    if (own->is_complete(key)) return choose(own->trimmed(key), weights, on_miss, operands);
    const auto shortened = own->shorten(key);
    return shortened ? choose(*shortened, weights, on_miss, operands) : Hit();
  }
  if (weights != nullptr) return choose_packed(*own, key, *weights, on_miss, operands);
  const GroupKey group = own->group_key(key);
  Hit hit = look_up(*own, key, nullptr, group.with_m(own->m_of(key)), std::span(&group, 1), on_miss, operands);
  // Answers for packed weights are stored under other hashes. If a hash matches by accident, the plan must not run.
  if (own->is_packed(key)) hit.plan = nullptr;
  return hit;
}

Hit Dispatcher::State::require(const Key& key, const Weights* weights, OperandList& operands, void* stream) {
  const Hit hit = choose(key, weights, OnMiss::ignore, &operands);
  return PlanService::is_settled(hit) ? hit : require_unsettled(hit, key, weights, operands, stream);
}

Hit Dispatcher::State::require_unsettled(Hit hit, const Key& key, const Weights* weights, OperandList& operands,
                                         void* stream) {
  const CapturedCalls::Call call(plans.captured_calls(), plans.capture_of(stream));
  if (call.capture() == 0 && plans.is_final(hit)) return hit;
  const Key asked = short_key(key);
  if (weights == nullptr) return plans.require({.key = asked}, operands, call.capture());
  const KeyCodes& own = codes_of(asked);
  const Key packed = own.with_packed(asked);
  if (!holds(*weights, own, packed))
    fail(ErrorCode::invalid_input, "these weights were packed for another problem or by another dispatcher");
  return plans.require({.key = packed, .layouts = &weights->state_->layouts}, operands, call.capture());
}

Hit Dispatcher::State::require_row(const Key& key, void* stream) {
  OperandList operands;
  Hit hit = choose(key, nullptr, OnMiss::ignore, &operands);
  const bool is_of_row = hit.row != 0 || hit.kernel_failed;
  if (is_of_row && !PlanService::is_settled(hit) && (!plans.is_final(hit) || plans.capture_of(stream) != 0)) {
    try {
      hit = require(key, nullptr, operands, stream);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::unavailable) throw;
    }
  }
  if (hit.row == 0) has_left.store(true, std::memory_order_relaxed);
  if (hit.row == 0 && options.online_tuning) {
    const Key asked = short_key(key);
    const LookupRequest request{asked, nullptr, plans.present().units};
    misses.post(request, request.hash(codes_of(asked)));
  }
  if (hit.row == 0 || hit.is_stand_in) hit.plan = nullptr;
  if (capture) capture_call(key, nullptr);
  return hit;
}

Hit Dispatcher::State::run(const Key& key, const Weights* weights, std::span<void* const> operands, void* stream) {
  OperandList list;
  const Hit hit = require(key, weights, list, stream);
  std::array<void*, OperandList::kMax> all;
  std::span<void* const> whole_list = operands;
  const bool has_all = operands.size() + (weights != nullptr ? list.num_packed() : 0) == list.size();
  if (weights != nullptr && has_all) {
    size_t next = 0, part = 0;
    for (size_t i = 0; i < list.size(); ++i)
      all[i] = list.is_packed(i) ? copy_of(*weights, hit, part++) : operands[next++];
    whole_list = {all.data(), list.size()};
  }
  if (!has_all || !list.accepts(whole_list)) {
    const Problem asked = problem(weights != nullptr ? codes_of(key).with_packed(short_key(key)) : key);
    refuse_operands(asked.op(), op_of(asked).tensors(asked), operands, weights != nullptr);
  }
  attune::run(*hit.plan, whole_list, stream);
  if (capture) capture_call(key, weights);
  return hit;
}

void Dispatcher::State::capture_call(const Key& key, const Weights* weights) const {
  const Key all = short_key(key);
  capture->note(weights == nullptr ? all : codes_of(all).with_packed(all), plans.present().captured_threads);
}

Hit Dispatcher::choose(const Key& key, const Weights* weights) const noexcept {
  return state_->choose(key, weights, State::OnMiss::post, nullptr);
}

Hit Dispatcher::require(const Key& key, const Weights* weights) {
  OperandList operands;
  const Hit hit = state_->require(key, weights, operands, nullptr);
  if (state_->capture) state_->capture_call(key, weights);
  return hit;
}

Hit Dispatcher::require_row(const Key& key, void* stream) { return state_->require_row(key, stream); }

Hit Dispatcher::run(const Key& key, std::span<void* const> operands, void* stream) {
  return state_->run(key, nullptr, operands, stream);
}
Hit Dispatcher::run(const Key& key, const Weights& weights, std::span<void* const> operands, void* stream) {
  return state_->run(key, &weights, operands, stream);
}

Weights Dispatcher::pack_weights(const Key& key, std::span<const void* const> plain, PackOptions options) {
  return state_->pack(key, plain, options);
}

Key Dispatcher::key(std::string_view text) const { return state_->codes.key(state_->read_problem(text)); }

std::vector<TensorSpec> Dispatcher::operands(std::string_view text) const {
  const Problem problem = state_->read_problem(text);
  return op_of(problem).tensors(problem);
}

std::vector<TensorSpec> Dispatcher::operands(const Key& key, const Weights* weights) const {
  const Problem problem =
      state_->problem(weights == nullptr ? key : state_->codes_of(key).with_packed(state_->short_key(key)));
  auto tensors = op_of(problem).tensors(problem);
  if (weights != nullptr) std::erase_if(tensors, [](const TensorSpec& tensor) { return tensor.is_packed; });
  return tensors;
}

void Dispatcher::run_candidate(std::string_view text, std::string_view candidate, std::span<void* const> operands,
                               void* stream) {
  const Problem problem = state_->read_problem(text);
  const CapturedCalls::Call call(state_->plans.captured_calls(), state_->plans.capture_of(stream));
  const Candidate parsed = state_->plans.candidate(problem, candidate);
  const auto wanted = op_of(problem).tensors(problem);
  if (operands.size() != wanted.size()) refuse_operands(problem.op(), wanted, operands, false);
  const Plan& plan = state_->plans.require(problem, parsed);
  if (!OperandList(wanted).accepts(operands)) refuse_operands(problem.op(), wanted, operands, false);
  attune::run(plan, operands, stream);
}

std::shared_ptr<const Plan> Dispatcher::keep(const Hit& hit) const { return state_->plans.keep(hit); }
std::string Dispatcher::explain(const Key& key) const { return state_->plans.explain(state_->short_key(key)); }
bool Dispatcher::reload() { return state_->plans.reload(true); }
uint64_t Dispatcher::release_memory() {
  const uint64_t of_plans = state_->plans.release_memory();
  return of_plans + (state_->plans.is_host() ? free_thread_workspace() : 0);
}
int Dispatcher::set_threads(int threads) { return static_cast<int>(state_->plans.set_threads(threads)); }
int Dispatcher::threads() const noexcept { return static_cast<int>(state_->plans.present().units); }
Requirement Dispatcher::requirement() const noexcept { return state_->options.require; }

std::vector<std::string> Dispatcher::notices() const { return state_->notices(); }
std::vector<TableInUse> Dispatcher::tables() const { return state_->plans.tables(); }
DispatchCounts Dispatcher::counts() const { return state_->counts(); }
void Dispatcher::finish() { state_->finish(); }

}  // namespace attune
