// SPDX-License-Identifier: MIT
#include <array>

#include "api/c_calls.h"
#include "attune/attune_weights.h"
#include "attune/weights.h"
#include "base/text.h"

/// Packed copies. The dispatcher counts them and must outlive them.
struct attune_weights {
  attune_weights(attune_dispatcher& dispatcher, attune::Weights packed) : maker(dispatcher), own(std::move(packed)) {
    ++maker.num_weights;
  }
  ~attune_weights() { --maker.num_weights; }

  attune_dispatcher& maker;
  attune::Weights own;
};

namespace {

using namespace attune;

constexpr size_t kPackOptionsSize = 24;
static_assert(sizeof(attune_pack_options) == kPackOptionsSize);

PackOptions options_of(const attune_pack_options& given) {
  const attune_pack_options wanted = taken(given, attune_pack_options ATTUNE_PACK_OPTIONS_INIT, kPackOptionsSize);
  check_reserved(wanted.reserved);
  return {.packing = wanted.per_shape != 0 ? Packing::per_shape : Packing::one_layout, .max_bytes = wanted.max_bytes};
}

}  // namespace

extern "C" {

int attune_pack_weights(attune_dispatcher* dispatcher, const attune_gemm_key* key, const void* w,
                        const attune_pack_options* options, attune_weights** weights) {
  return guarded([&] {
    needed(weights, "weights");
    const GemmKey problem = key_of(*needed(key, "key"));
    void* const plain = const_cast<void*>(needed(w, "w"));
    check_places({&plain, 1});
    Weights packed = used(dispatcher).pack_weights(problem, plain, options ? options_of(*options) : PackOptions());
    *weights = new attune_weights(*dispatcher, std::move(packed));
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
    const GemmKey problem = key_of(*needed(key, "key"));
    give(*hit, c_hit(used(dispatcher).choose(problem, &needed(weights, "weights")->own)), kHitSize);
  });
}

int attune_require_packed(attune_dispatcher* dispatcher, const attune_gemm_key* key, const attune_weights* weights,
                          attune_hit* hit) {
  return guarded([&] {
    const GemmKey problem = key_of(*needed(key, "key"));
    const attune_hit found = c_hit(used(dispatcher).require(problem, &needed(weights, "weights")->own));
    if (hit != nullptr) give(*hit, found, kHitSize);
  });
}

int attune_gemm_packed(attune_dispatcher* dispatcher, const attune_gemm_key* key, const void* x,
                       const attune_weights* weights, const void* bias, void* out, void* stream) {
  return guarded([&] {
    const GemmKey problem = key_of(*needed(key, "key"));
    // One list holds inputs and output; the inputs are not written.
    std::array<void*, 3> operands = {const_cast<void*>(x), const_cast<void*>(bias), out};
    const size_t count = has_bias(problem, bias) ? 3 : 2;
    if (count == 2) operands[1] = out;
    const std::span<void* const> all(operands.data(), count);
    check_places(all);
    used(dispatcher).run(problem, needed(weights, "weights")->own, all, stream);
  });
}

}  // extern "C"
