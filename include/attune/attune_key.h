// SPDX-License-Identifier: MIT
#pragma once
#include "attune/attune.h"
#include "attune/attune_weights.h"

/// Calls of any op, also of one that is no matrix product. The rules of attune.h hold.

#ifdef __cplusplus
extern "C" {
#endif

/// Numbers of ops, besides ATTUNE_GEMM_...; ops that a process registers have numbers from the last one on.
enum { ATTUNE_FMOE = 8, ATTUNE_CONV = 9, ATTUNE_FIRST_REGISTERED = 0x8000 };
enum { ATTUNE_MAX_KEY_VALUES = 32 };

/// A problem of any op: numbers in the order of the op's key attributes, which `attune list ops --json` names (`key`).
/// A number is the value of an integer, 0 or 1 of a flag, ATTUNE_BF16 ... of a data type, the place of a named choice.
/// Values that are left out at the end have their defaults, so that a program keeps its meaning when an op gets another
/// attribute.
typedef struct {
  size_t size;
  uint32_t op;          ///< ATTUNE_GEMM_A16W16 ...
  uint32_t num_values;  ///< At most ATTUNE_MAX_KEY_VALUES.
  int64_t values[ATTUNE_MAX_KEY_VALUES];
} attune_key;
#define ATTUNE_KEY_INIT                              \
  {                                                  \
    sizeof(attune_key), ATTUNE_GEMM_A16W16, 0, { 0 } \
  }

/// An operand by its role, such as `a`, `b`, `bias`, `c`.
typedef struct {
  const char* role;
  void* data;
} attune_operand;

/// Parses the text of a problem of any op: `gemm_a16w16 m=128 n=1536 k=7168`. Missing attributes get their defaults,
/// and the key has the values of all. Takes microseconds.
ATTUNE_API int attune_parse_key(const char* text, attune_key* key);
/// Converts the typed key of a matrix product. Values at the end that have their defaults are left out.
ATTUNE_API int attune_gemm_to_key(const attune_gemm_key* gemm, attune_key* key);
/// Like attune_choose(), attune_require() and attune_explain(); attune_choose_key() finds nothing for a key of no
/// problem, nor for an op that this process does not know. `weights`: packed for this problem, or null.
ATTUNE_API int attune_choose_key(attune_dispatcher* dispatcher, const attune_key* key, const attune_weights* weights,
                                 attune_hit* hit);
ATTUNE_API int attune_require_key(attune_dispatcher* dispatcher, const attune_key* key, const attune_weights* weights,
                                  attune_hit* hit);
ATTUNE_API int attune_explain_key(attune_dispatcher* dispatcher, const attune_key* key, char* buffer, size_t capacity,
                                  size_t* length);
/// Like attune_run() for any op: operands in the order in which attune_operand_role() names them, without those that
/// `weights` holds (null: none). A wrong number of operands, a null pointer, a misaligned one and an output that
/// overlaps another operand are ATTUNE_INVALID_INPUT.
ATTUNE_API int attune_run_key(attune_dispatcher* dispatcher, const attune_key* key, const attune_weights* weights,
                              void* const* operands, size_t num_operands, void* stream);
/// Like attune_run_key() with operands by role, in any order. An unknown role, one that is missing and one that is
/// given twice are ATTUNE_INVALID_INPUT. Takes some microseconds more.
ATTUNE_API int attune_run_named(attune_dispatcher* dispatcher, const attune_key* key, const attune_weights* weights,
                                const attune_operand* operands, size_t num_operands, void* stream);
/// Writes the role of a problem's operand at `index` as attune_explain() writes its text; ATTUNE_NOT_FOUND beyond the
/// last. Takes microseconds.
ATTUNE_API int attune_operand_role(attune_dispatcher* dispatcher, const attune_key* key, size_t index, char* buffer,
                                   size_t capacity, size_t* length);
/// Like attune_pack_weights() for any op. `plain`: the operands that are packed together, of a product the weights
/// alone.
ATTUNE_API int attune_pack_weights_key(attune_dispatcher* dispatcher, const attune_key* key, const void* const* plain,
                                       size_t num_plain, const attune_pack_options* options, attune_weights** weights);

#ifdef __cplusplus
}
#endif
