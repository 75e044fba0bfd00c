// SPDX-License-Identifier: MIT
#pragma once
#include "attune/attune.h"

/// Packed weights, for C: weights packed once, in a layout that this machine's kernels read, and used at every m. The
/// general rules in attune.h hold for these functions too; docs/run_time.md explains which layouts are chosen.

#ifdef __cplusplus
extern "C" {
#endif

/// Options of attune_pack_weights(). A field that is 0 has its default.
typedef struct {
  size_t size;
  uint64_t max_bytes;  ///< Limit on all copies together; copies beyond it are not made. 0: no limit.
  uint8_t per_shape;   ///< 1: one copy per layout that a row of these weights' shape names; 0: one copy.
  uint8_t reserved[7];
} attune_pack_options;
#define ATTUNE_PACK_OPTIONS_INIT             \
  {                                          \
    sizeof(attune_pack_options), 0, 0, { 0 } \
  }

/// Packed copies of the weights of one layer, bound to the dispatcher that made them. They are immutable: any thread
/// may use them.
typedef struct attune_weights attune_weights;

/// Packs weights for all problems that differ from `key` in m alone; key's m may be 1, and ATTUNE_BPRESHUFFLE is
/// assumed. `w`: as in attune_gemm(); it is read by this call and not needed afterwards. Takes about 0.3 s per GB.
/// `options` may be null. ATTUNE_UNAVAILABLE when no library on this machine reads packed weights, no copy fits the
/// limit, or there is no memory.
ATTUNE_API int attune_pack_weights(attune_dispatcher* dispatcher, const attune_gemm_key* key, const void* w,
                                   const attune_pack_options* options, attune_weights** weights);
/// Frees weights; no other call may use them meanwhile. Requires: their dispatcher is still open; attune_close()
/// refuses while weights exist. Null is accepted and does nothing.
ATTUNE_API int attune_free_weights(attune_weights* weights);
/// Total size of all copies.
ATTUNE_API int attune_weights_bytes(const attune_weights* weights, uint64_t* bytes);
/// Name of the layout of copy `index`, from 0: `plain`, `host.k16.v1`, or a library's own. ATTUNE_NOT_FOUND beyond the
/// last copy. The name is valid as long as the dispatcher.
ATTUNE_API int attune_weights_layout(const attune_weights* weights, size_t index, const char** layout);

/// Like attune_choose(), but considers only rows in layouts that the weights hold. Weights of another dispatcher or
/// problem give a hit without a row and without a kernel.
ATTUNE_API int attune_choose_packed(attune_dispatcher* dispatcher, const attune_gemm_key* key,
                                    const attune_weights* weights, attune_hit* hit);
/// Like attune_require(), but ATTUNE_INVALID_INPUT for weights of another dispatcher or problem. The call waits for a
/// kernel to be compiled if no other kernel can read the weights.
ATTUNE_API int attune_require_packed(attune_dispatcher* dispatcher, const attune_gemm_key* key,
                                     const attune_weights* weights, attune_hit* hit);
/// Like attune_gemm(), with weights as for attune_require_packed().
ATTUNE_API int attune_gemm_packed(attune_dispatcher* dispatcher, const attune_gemm_key* key, const void* x,
                                  const attune_weights* weights, const void* bias, void* out, void* stream);

#ifdef __cplusplus
}
#endif
