// SPDX-License-Identifier: MIT
#pragma once
#include "attune/attune.h"

/// Weights packed ahead, for C: packed once in a layout that kernels here read, used at every m. What attune.h says of
/// its functions holds for these; docs/run_time.md says which layouts are chosen.

#ifdef __cplusplus
extern "C" {
#endif

/// What is 0 is the default.
typedef struct {
  size_t size;
  uint64_t max_bytes;  ///< Of all copies; those that do not fit are left out. 0: no limit.
  uint8_t per_shape;   ///< 1: a copy for each layout that a row of these weights' shape names; 0: one copy.
  uint8_t reserved[7];
} attune_pack_options;
#define ATTUNE_PACK_OPTIONS_INIT             \
  {                                          \
    sizeof(attune_pack_options), 0, 0, { 0 } \
  }

/// Packed copies of the weights of one layer, of the dispatcher that made them. Nobody writes to them: any thread may
/// use them.
typedef struct attune_weights attune_weights;

/// Packs weights for all problems that differ from `key` in m alone (1 will do); ATTUNE_BPRESHUFFLE is taken as set.
/// `w`: as in attune_gemm(); read now and not needed afterwards. About 0.3 s a GB. `options` may be null.
/// ATTUNE_UNAVAILABLE when no library here takes packed weights, no copy is within the limit, or there is no memory.
ATTUNE_API int attune_pack_weights(attune_dispatcher* dispatcher, const attune_gemm_key* key, const void* w,
                                   const attune_pack_options* options, attune_weights** weights);
/// No other call may use them meanwhile. Before their dispatcher is closed: attune_close() refuses while it has any.
/// Null is nothing to do.
ATTUNE_API int attune_free_weights(attune_weights* weights);
/// Of all copies.
ATTUNE_API int attune_weights_bytes(const attune_weights* weights, uint64_t* bytes);
/// Name of the layout of copy `index`, from 0: `plain`, `host.k16.v1`, a library's own. ATTUNE_NOT_FOUND beyond the
/// last. Valid as long as the dispatcher.
ATTUNE_API int attune_weights_layout(const attune_weights* weights, size_t index, const char** layout);

/// As attune_choose(), over rows in layouts that the weights hold. Weights of another dispatcher or problem are
/// answered with no row and no kernel.
ATTUNE_API int attune_choose_packed(attune_dispatcher* dispatcher, const attune_gemm_key* key,
                                    const attune_weights* weights, attune_hit* hit);
/// As attune_require(); ATTUNE_INVALID_INPUT for weights of another dispatcher or problem. A kernel that is to be
/// compiled is waited for where nothing else reads the weights.
ATTUNE_API int attune_require_packed(attune_dispatcher* dispatcher, const attune_gemm_key* key,
                                     const attune_weights* weights, attune_hit* hit);
/// As attune_gemm(), and as attune_require_packed().
ATTUNE_API int attune_gemm_packed(attune_dispatcher* dispatcher, const attune_gemm_key* key, const void* x,
                                  const attune_weights* weights, const void* bias, void* out, void* stream);

#ifdef __cplusplus
}
#endif
