// SPDX-License-Identifier: MIT
#include "attune/weights.h"

#include "base/error.h"
#include "base/text.h"
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
    for (const State::Copy& copy : state_->copies) sum += copy.block.area().bytes;
  }
  return sum;
}

Weights Dispatcher::State::pack(const Key& given, std::span<const void* const> plain, const PackOptions& wanted) {
  constexpr uint32_t kAlignment = 64;
  const KeyCodes& own = codes_of(given);
  const Key key = own.with_packed(own.with_m(short_key(given), 1));
  const WeightsPacker::PackingChoice chosen = plans.choose_packing(key, wanted);
  const size_t num_wanted = chosen.plain_bytes.size();
  if (plain.size() != num_wanted)
    fail(ErrorCode::invalid_input, "packing weights of {} takes {}, got {}", own.family().op,
         counted(num_wanted, "operand"), plain.size());
  std::vector<Buffer> tensors;
  for (size_t i = 0; i < num_wanted; ++i) {
    if (plain[i] == nullptr) fail(ErrorCode::invalid_input, "a null pointer was given for the weights");
    tensors.push_back({const_cast<void*>(plain[i]), chosen.plain_bytes[i]});  // Packing only reads it.
  }
  auto state = std::make_unique<Weights::State>(plans.owner(), key, *chosen.layouts);
  state->groups = chosen.layouts->group_keys(own, key);
  state->answers = own.group_key(key, chosen.layouts->code);
  state->copies.reserve(chosen.packings.size());
  for (const WeightPacking& packing : chosen.packings) {
    try {
      state->copies.push_back({OwnBuffer(plans.owner().memory(), packing.bytes, kAlignment), {}});
    } catch (const Error& error) {
      fail(ErrorCode::unavailable, "cannot allocate packed weights, use plain ones: {}", error.what());
    }
    for (const WeightPacking::Part& part : packing.parts) state->copies.back().offsets.push_back(part.offset);
    plans.pack(packing, tensors, state->copies.back().block.area());
  }
  return Weights(std::move(state));
}

/// Whether this dispatcher packed the weights, and for this problem. `key`: short, of packed weights.
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

void* Dispatcher::State::copy_of(const Weights& weights, const Hit& hit, size_t part) noexcept {
  const Weights::State::Copy& copy = weights.state_->copies[hit.layout];
  return copy.block.area().part(copy.offsets[part], 0).data;
}

}  // namespace attune
