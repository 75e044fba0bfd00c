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

Weights Dispatcher::State::pack(const Key& given, const void* plain, const PackOptions& wanted) {
  constexpr uint32_t kAlignment = 64;
  if (plain == nullptr) fail(ErrorCode::invalid_input, "a null pointer was given for the weights");
  const KeyCodes& own = codes_of(given);
  const Key key = own.with_packed(own.with_m(whole(given), 1));
  const WeightsPacker::PackingChoice chosen = plans.choose_packing(key, wanted);
  auto state = std::make_unique<Weights::State>(plans.owner(), key, *chosen.layouts);
  state->groups = chosen.layouts->group_keys(own, key);
  state->answers = own.group_key(key, chosen.layouts->code);
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

/// Whether this dispatcher packed the weights, and for this problem. `key`: complete, of packed weights.
bool Dispatcher::State::holds(const Weights& weights, const KeyCodes& own, const Key& key) const noexcept {
  if (!weights.state_ || &weights.state_->device != &plans.owner()) return false;
  const Key& packed = weights.state_->key;
  return own.with_m(key, own.m_of(packed)) == packed;
}

Hit Dispatcher::State::choose_packed(const KeyCodes& own, const Key& plain, const Weights& weights, OnMiss on_miss,
                                     OperandList* operands) noexcept {
  const Key key = own.with_packed(plain);
  if (!holds(weights, own, key)) return {};
  const Weights::State& held = *weights.state_;
  return look_up(own, key, &held.layouts, held.answers.with_m(own.m_of(key)), held.groups, on_miss, operands);
}

void* Dispatcher::State::copy_of(const Weights& weights, const Hit& hit) noexcept {
  return weights.state_->copies[hit.layout].data;
}

}  // namespace attune
