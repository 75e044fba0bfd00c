// SPDX-License-Identifier: MIT
#pragma once
#include "attune/attune.h"

/// The functions of attune/quantise.h for C, with the rules of attune.h. Types are ATTUNE_INT8, ATTUNE_E4M3FN …; areas
/// have the sizes that quantise.h states.

#ifdef __cplusplus
extern "C" {
#endif

enum { ATTUNE_EXPONENT_FLOOR = 0, ATTUNE_EXPONENT_RCEIL = 1 };

ATTUNE_API int attune_quantise_rows(uint32_t dtype, int64_t rows, int64_t k, const float* values, void* elements,
                                    float* scales);
ATTUNE_API int attune_quantise_tensor(uint32_t dtype, int64_t rows, int64_t k, const float* values, void* elements,
                                      float* scale);
ATTUNE_API int attune_quantise_blocks(uint32_t dtype, int64_t rows, int64_t k, int64_t block_rows, int64_t block_depth,
                                      const float* values, void* elements, float* scales);
/// `rounding`: ATTUNE_EXPONENT_FLOOR or ATTUNE_EXPONENT_RCEIL.
ATTUNE_API int attune_quantise_mxfp4(int64_t rows, int64_t k, uint32_t rounding, const float* values, void* elements,
                                     uint8_t* scales);
/// `group_rows` and `group_depth`: how many rows, and elements along k, share a scale; 0: all.
ATTUNE_API int attune_dequantise(uint32_t dtype, uint32_t scale_dtype, int64_t rows, int64_t k, int64_t group_rows,
                                 int64_t group_depth, const void* elements, const void* scales, float* values);

#ifdef __cplusplus
}
#endif
