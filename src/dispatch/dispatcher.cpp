// SPDX-License-Identifier: MIT
#include "attune/dispatcher.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <mutex>

#include "base/error.h"
#include "dispatch/dispatch_state.h"
#include "dispatch/operand_overlap.h"
#include "dispatch/threads/library_use.h"
#include "dispatch/threads/read_guard.h"
#include "ops/op.h"

namespace attune {
namespace {

/// Workspace memory of the calling thread, kept between calls.
class ThreadWorkspace {
 public:
  ~ThreadWorkspace() {
    std::free(data_);
    data_ = nullptr;  // A destructor of another thread_local may still run products.
    bytes_ = 0;
  }
  ThreadWorkspace() = default;
  ThreadWorkspace(const ThreadWorkspace&) = delete;
  ThreadWorkspace& operator=(const ThreadWorkspace&) = delete;

  void* of(const Plan& plan) {
    constexpr size_t kAlignment = 64;
    const PlanTraits& traits = plan.traits();
    if (traits.workspace_bytes == 0) return nullptr;
    if (traits.workspace_bytes > bytes_) {
      std::free(data_);
      bytes_ = (traits.workspace_bytes + kAlignment - 1) / kAlignment * kAlignment;
      data_ = std::aligned_alloc(kAlignment, bytes_);
      if (data_ == nullptr) {
        bytes_ = 0;
        fail(ErrorCode::unavailable, "cannot allocate a workspace of {} bytes, free some memory",
             traits.workspace_bytes);
      }
    }
    // A plan leaves its prefix zeroed, but another plan may have run in between.
    if (traits.zeroed_bytes > 0) std::memset(data_, 0, traits.zeroed_bytes);
    return data_;
  }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

void run_plan(const Plan& plan, std::span<void* const> operands, void* stream) {
  thread_local ThreadWorkspace workspace;
  plan.run({operands, workspace.of(plan), stream});
}

}  // namespace

std::string_view name(Match match) noexcept {
  static constexpr std::array<std::string_view, 5> kNames = {"exact", "padded_fine", "padded_coarse", "predicted",
                                                             "fallback"};
  return kNames[static_cast<size_t>(match)];
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

Hit Dispatcher::State::choose(const GemmKey& key, OnMiss on_miss) noexcept {
  const auto op = static_cast<size_t>(key.op);
  if (op >= codes.size()) return {};
  const KeyCodes& own = codes[op];
  const GroupKey group = own.group_key(key);
  Hit hit = look_up({.key = key}, group.with_m(key.m), std::span(&group, 1), on_miss);
  // Answers for packed weights are stored under other hashes. If a hash matches by accident, the plan must not run.
  if ((key.flags & GemmKey::bpreshuffle) != 0) hit.plan = nullptr;
  return hit;
}

Hit Dispatcher::choose(const GemmKey& key, const Weights* weights) const noexcept {
  return weights != nullptr ? state_->choose(key, *weights) : state_->choose(key, State::OnMiss::post);
}

Hit Dispatcher::require(const GemmKey& key, const Weights* weights) {
  if (weights != nullptr) return state_->require(key, *weights);
  const Hit hit = state_->choose(key, State::OnMiss::ignore);
  return state_->plans.is_final(hit) ? hit : state_->plans.require({.key = key});
}

void Dispatcher::run(const GemmKey& key, std::span<void* const> operands, void* stream) {
  const size_t num_wanted = (key.flags & GemmKey::bias) != 0 ? 4 : 3;
  if (operands.size() != num_wanted)
    fail(ErrorCode::invalid_input, "this product has {} operands (a, b, bias if there is one, c), got {}", num_wanted,
         operands.size());
  const Hit hit = require(key);
  check_output(key, operands, OperandRoles::all);
  run_plan(*hit.plan, operands, stream);
}

void Dispatcher::run(const GemmKey& key, const Weights& weights, std::span<void* const> operands, void* stream) {
  const bool has_bias = (key.flags & GemmKey::bias) != 0;
  const size_t num_wanted = has_bias ? 3 : 2;
  if (operands.size() != num_wanted)
    fail(ErrorCode::invalid_input,
         "this product has {} operands besides its weights (a, bias if there is one, c), got {}", num_wanted,
         operands.size());
  const Hit hit = state_->require(key, weights);
  check_output(key, operands, OperandRoles::without_weights);
  std::array<void*, 4> all = {operands[0], State::copy_of(weights, hit), operands[1], operands[num_wanted - 1]};
  run_plan(*hit.plan, std::span<void* const>(all).first(num_wanted + 1), stream);
}

Weights Dispatcher::pack_weights(const GemmKey& key, const void* plain, PackOptions options) {
  return state_->pack(key, plain, options);
}

std::vector<TensorSpec> Dispatcher::operands(std::string_view text) const {
  const Problem problem = state_->read_problem(text);
  return op_of(problem).tensors(problem);
}

void Dispatcher::run_candidate(std::string_view text, std::string_view candidate, std::span<void* const> operands,
                               void* stream) {
  const Problem problem = state_->read_problem(text);
  const Candidate parsed = Candidate::parse(candidate);
  const auto wanted = op_of(problem).tensors(problem);
  if (operands.size() != wanted.size())
    fail(ErrorCode::invalid_input, "the problem has {} operands, got {}", wanted.size(), operands.size());
  const Plan& plan = state_->plans.require(problem, parsed);
  check_output(wanted, operands);
  run_plan(plan, operands, stream);
}

std::shared_ptr<const Plan> Dispatcher::keep(const Hit& hit) const { return state_->plans.keep(hit); }
std::string Dispatcher::explain(const GemmKey& key) const { return state_->plans.explain(key); }
bool Dispatcher::reload() { return state_->plans.reload(true); }
int Dispatcher::set_threads(int threads) { return static_cast<int>(state_->plans.set_threads(threads)); }
int Dispatcher::threads() const noexcept { return static_cast<int>(state_->plans.present().units); }
Requirement Dispatcher::requirement() const noexcept { return state_->options.require; }

std::vector<std::string> Dispatcher::notices() const { return state_->notices(); }
std::vector<TableInUse> Dispatcher::tables() const { return state_->plans.tables(); }
DispatchCounts Dispatcher::counts() const { return state_->counts(); }
void Dispatcher::finish() { state_->finish(); }

}  // namespace attune
