// SPDX-License-Identifier: MIT
// The calls of a Dispatcher and of a Capture by typed keys of matrix products.
#include "attune/capture.h"
#include "attune/dispatcher.h"
#include "ops/gemm/gemm_key.h"

namespace attune {

Hit Dispatcher::choose(const GemmKey& typed, const Weights* weights) const noexcept {
  Key key;
  return to_key(typed, key) ? choose(key, weights) : Hit();
}
Hit Dispatcher::require(const GemmKey& key, const Weights* weights) { return require(checked_key(key), weights); }
Hit Dispatcher::require_row(const GemmKey& key, void* stream) { return require_row(checked_key(key), stream); }
Hit Dispatcher::run(const GemmKey& key, std::span<void* const> operands, void* stream) {
  return run(checked_key(key), operands, stream);
}
Hit Dispatcher::run(const GemmKey& key, const Weights& weights, std::span<void* const> operands, void* stream) {
  return run(checked_key(key), weights, operands, stream);
}
Weights Dispatcher::pack_weights(const GemmKey& key, const void* plain, PackOptions options) {
  return pack_weights(checked_key(key), {&plain, 1}, options);
}
std::string Dispatcher::explain(const GemmKey& key) const { return explain(checked_key(key)); }

void Capture::note(const GemmKey& typed, int threads) noexcept {
  static const Key kOfNoOp(OpId{0xffff}, {});  // The call below drops it.
  Key key;
  note(to_key(typed, key) ? key : kOfNoOp, threads);
}

}  // namespace attune
