// SPDX-License-Identifier: MIT
#include <array>

#include "api/c_calls.h"
#include "attune/attune_weights.h"
#include "attune/weights.h"
#include "base/text.h"

namespace {

using namespace attune;

}  // namespace

extern "C" {

int attune_pack_weights(attune_dispatcher* dispatcher, const attune_gemm_key* key, const void* w,
                        const attune_pack_options* options, attune_weights** weights) {
  return guarded([&] {
    needed(weights, "weights");
    const GemmKey problem = gemm_key_of(*needed(key, "key"));
    check_place(w, "w");
    *weights = new attune_weights(*dispatcher, used(dispatcher).pack_weights(problem, w, pack_options_of(options)));
  });
}

int attune_free_weights(attune_weights* weights) {
  return guarded([&] { delete weights; });
}

int attune_weights_bytes(const attune_weights* weights, uint64_t* bytes) {
  return guarded([&] { *needed(bytes, "bytes") = needed(weights, "weights")->own.bytes(); });
}

int attune_weights_layout(const attune_weights* weights, size_t index, const char** layout) {
  return guarded([&] {
    needed(layout, "layout");
    const auto layouts = needed(weights, "weights")->own.layouts();
    if (index >= layouts.size())
      fail(ErrorCode::not_found, "these weights have {}, the index is out of range: {}",
           counted(layouts.size(), "layout"), index);
    *layout = layouts[index].c_str();
  });
}

int attune_choose_packed(attune_dispatcher* dispatcher, const attune_gemm_key* key, const attune_weights* weights,
                         attune_hit* hit) {
  return guarded([&] {
    needed(hit, "hit");
    const GemmKey problem = gemm_key_of(*needed(key, "key"));
    give(*hit, c_hit(used(dispatcher).choose(problem, &needed(weights, "weights")->own)), kHitSize);
  });
}

int attune_require_packed(attune_dispatcher* dispatcher, const attune_gemm_key* key, const attune_weights* weights,
                          attune_hit* hit) {
  return guarded([&] {
    const GemmKey problem = gemm_key_of(*needed(key, "key"));
    const attune_hit found = c_hit(used(dispatcher).require(problem, &needed(weights, "weights")->own));
    if (hit != nullptr) give(*hit, found, kHitSize);
  });
}

int attune_gemm_packed(attune_dispatcher* dispatcher, const attune_gemm_key* key, const void* x,
                       const attune_weights* weights, const void* bias, void* out, void* stream) {
  return guarded([&] {
    const GemmKey problem = gemm_key_of(*needed(key, "key"));
    // One list holds inputs and output; the inputs are not written.
    std::array<void*, 3> operands = {const_cast<void*>(x), const_cast<void*>(bias), out};
    const size_t count = has_bias(problem, bias) ? 3 : 2;
    if (count == 2) operands[1] = out;
    used(dispatcher)
        .run(problem, needed(weights, "weights")->own, std::span<void* const>(operands.data(), count), stream);
  });
}

}  // extern "C"
