// SPDX-License-Identifier: MIT
#include "attune/weights.h"

#include "base/error.h"
#include "dispatch/dispatch_state.h"
#include "dispatch/threads/read_guard.h"
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
  constexpr uint32_t kAlignment = 64;
  const auto op = static_cast<size_t>(key.op);
  if (op >= kNumOps) fail(ErrorCode::invalid_input, "unknown op number: {}", op);
  if (plain == nullptr) fail(ErrorCode::invalid_input, "a null pointer was given for the weights");
  key.flags |= GemmKey::bpreshuffle;
  key.m = 1;
  const WeightsPacker::PackingChoice chosen = plans.choose_packing(key, wanted);
  auto state = std::make_unique<Weights::State>(plans.owner(), key, *chosen.layouts);
  state->groups = chosen.layouts->group_keys(codes[op], key);
  state->answers = codes[op].group_key(codes[op].codes(key), chosen.layouts->code);
  state->copies.reserve(chosen.packings.size());
  for (const WeightPacking& packing : chosen.packings) {
    try {
      state->copies.push_back(plans.owner().allocate(packing.bytes, kAlignment));
    } catch (const Error& error) {
      fail(ErrorCode::unavailable, "cannot allocate packed weights, use plain ones: {}", error.what());
    }
    plans.pack(packing, {static_cast<const std::byte*>(plain), chosen.plain_bytes},
               {state->copies.back().data, packing.bytes});
  }
  return Weights(std::move(state));
}

/// Whether this dispatcher packed the weights, and for this problem.
bool Dispatcher::State::holds(const Weights& weights, GemmKey key) const noexcept {
  if (!weights.state_ || &weights.state_->device != &plans.owner()) return false;
  const GemmKey& packed = weights.state_->key;
  key.m = packed.m;
  return key.op == packed.op && codes[static_cast<size_t>(packed.op)].same(key, packed);
}

Hit Dispatcher::State::choose(GemmKey key, const Weights& weights, OnMiss on_miss) noexcept {
  key.flags |= GemmKey::bpreshuffle;
  if (!holds(weights, key)) return {};
  const Weights::State& held = *weights.state_;
  return look_up({.key = key, .layouts = &held.layouts}, held.answers.with_m(key.m), held.groups, on_miss);
}

Hit Dispatcher::State::require(GemmKey key, const Weights& weights) {
  key.flags |= GemmKey::bpreshuffle;
  if (const Hit hit = choose(key, weights, OnMiss::ignore); plans.is_final(hit)) return hit;
  if (!holds(weights, key))
    fail(ErrorCode::invalid_input, "these weights were packed for another problem or by another dispatcher");
  return plans.require({.key = key, .layouts = &weights.state_->layouts});
}

void* Dispatcher::State::copy_of(const Weights& weights, const Hit& hit) noexcept {
  return weights.state_->copies[hit.layout].data;
}

}  // namespace attune
