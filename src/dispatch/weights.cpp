// SPDX-License-Identifier: MIT
#include "attune/weights.h"

#include "base/error.h"
#include "dispatch/dispatch_state.h"
#include "dispatch/read_guard.h"
#include "dispatch/weights_state.h"

namespace attune {

Weights::Weights(std::unique_ptr<const State> state) : state_(std::move(state)) {}
Weights::Weights(Weights&& other) noexcept = default;
Weights& Weights::operator=(Weights&& other) noexcept = default;
Weights::~Weights() = default;

std::span<const std::string> Weights::layouts() const noexcept {
  return state_ ? std::span<const std::string>(state_->layouts.names) : std::span<const std::string>();
}

uint64_t Weights::bytes() const noexcept {
  uint64_t sum = 0;
  if (state_) {
    for (const Buffer& copy : state_->copies) sum += copy.bytes;
  }
  return sum;
}

Weights Dispatcher::State::pack(GemmKey key, const void* plain, const PackOptions& wanted) {
  const auto op = static_cast<size_t>(key.op);
  if (op >= kNumOps) fail(ErrorCode::invalid_input, "there is no op of that number: {}", op);
  key.flags |= GemmKey::bpreshuffle;
  key.m = 1;
  const std::unique_lock lock = begin_making();
  return packer_.pack(codes[op], *now.load()->tables[op].rows, key, plain, wanted);
}

/// Whether the weights are this dispatcher's, and of the problem.
bool Dispatcher::State::holds(const Weights& weights, GemmKey key) const noexcept {
  if (!weights.state_ || &weights.state_->device != &maker_.owner()) return false;
  const GemmKey& packed = weights.state_->key;
  key.m = packed.m;
  return key.op == packed.op && codes[static_cast<size_t>(packed.op)].same(key, packed);
}

Hit Dispatcher::State::choose(GemmKey key, const Weights& weights) noexcept {
  key.flags |= GemmKey::bpreshuffle;
  if (!holds(weights, key)) return {};
  const Weights::State& held = *weights.state_;
  if (capture) capture->note(key);
  const KeyCodes& own = codes[static_cast<size_t>(key.op)];
  const ProblemKey hash = held.answers.with_m(key.m);
  Hit hit;
  bool is_served = false;
  {
    const ReadGuard reading;
    const Snapshot& current = *now.load(std::memory_order_seq_cst);
    const Served* served = current.served.find(hash);
    if (served != nullptr && served->layouts == &held.layouts && own.same(served->key, key)) {
      is_served = true;
      hit = served->hit;
    } else {
      const RowIndex& rows = *current.tables[static_cast<size_t>(key.op)].rows;
      visit_rows(rows, key, own.pads_m(), held.halves, options.most_regret, [&](const MetRow& met) {
        hit = {.row = met.number, .match = met.match, .regret_percent = percent_of(met.regret), .layout = met.layout};
        return true;
      });
    }
  }
  counters.count(hit.row == 0);
  if (!is_served && !options.only_look_up && !is_full()) {
    hit.not_ready = true;
    inbox.post({key, &held.layouts}, hash);
  }
  return hit;
}

Hit Dispatcher::State::require(GemmKey key, const Weights& weights) {
  key.flags |= GemmKey::bpreshuffle;
  if (const Hit hit = choose(key, weights); hit.plan != nullptr) return hit;
  if (!holds(weights, key))
    fail(ErrorCode::invalid_input, "these weights are not of this problem, or were packed by another dispatcher");
  return require({key, &weights.state_->layouts});
}

void* Dispatcher::State::copy_of(const Weights& weights, const Hit& hit) noexcept {
  return weights.state_->copies[hit.layout].data;
}

}  // namespace attune
