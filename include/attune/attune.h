// SPDX-License-Identifier: MIT
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "attune/export.h"

/// The run time for C and for languages that call C. docs/run_time.md says what a lookup does.
///
/// Every function that can fail returns an attune_status and writes its results only when that is ATTUNE_OK. No
/// function throws or ends the process, and a null pointer where something is needed is ATTUNE_INVALID_INPUT. Any
/// thread may call any function at any time, except for attune_close(), after which nothing may use the dispatcher.
/// Texts are UTF-8 and end with 0; those passed in are copied, those passed out are the library's.
///
/// A struct with `size` is set up with its INIT macro, so that a program goes on working with a later library whose
/// struct is longer, and with an earlier one as long as it does not use what that one does not know.

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  ATTUNE_OK = 0,
  ATTUNE_INVALID_INPUT = 1,  ///< The caller's mistake.
  ATTUNE_NOT_FOUND = 2,
  ATTUNE_UNAVAILABLE = 3,  ///< No library here does it, or there is no memory.
  ATTUNE_IO = 4,
  ATTUNE_DATABASE = 5,
  ATTUNE_DEVICE = 6,  ///< The device, or the library that was to run, refused.
  ATTUNE_TIMEOUT = 7,
  ATTUNE_INTERNAL = 8  ///< A bug of Attune's.
} attune_status;

/// Later versions add to the ends of these.
enum {
  ATTUNE_GEMM_A16W16 = 0,
  ATTUNE_GEMM_A8W8 = 1,
  ATTUNE_GEMM_A8W8_BPRESHUFFLE = 2,
  ATTUNE_GEMM_A8W8_BLOCKSCALE = 3,
  ATTUNE_GEMM_A8W8_BLOCKSCALE_BPRESHUFFLE = 4,
  ATTUNE_GEMM_A4W4_BLOCKSCALE = 5,
  ATTUNE_BATCHED_GEMM_BF16 = 6,
  ATTUNE_BATCHED_GEMM_A8W8 = 7
};
enum {
  ATTUNE_FP64 = 0,
  ATTUNE_FP32 = 1,
  ATTUNE_BF16 = 2,
  ATTUNE_FP16 = 3,
  ATTUNE_INT32 = 4,
  ATTUNE_INT8 = 5,
  ATTUNE_E4M3FN = 6,
  ATTUNE_E4M3FNUZ = 7,
  ATTUNE_E5M2 = 8,
  ATTUNE_E5M2FNUZ = 9,
  ATTUNE_E2M1 = 10,
  ATTUNE_E8M0 = 11
};
enum {
  ATTUNE_BIAS = 1,
  ATTUNE_SCALE_AB = 2,
  ATTUNE_BPRESHUFFLE = 4,  ///< The weights are packed.
  ATTUNE_TRANS_A = 8,      ///< x is stored [k][m].
  ATTUNE_B_IS_KN = 16      ///< The weights are stored [k][n]; without it [n][k], as a linear layer holds them.
};
enum {
  ATTUNE_EXACT = 0,          ///< The problem's own row.
  ATTUNE_PADDED_FINE = 1,    ///< A row of a slightly larger m,
  ATTUNE_PADDED_COARSE = 2,  ///< or of the next power of two.
  ATTUNE_PREDICTED = 3,      ///< A row that a model of the table chose.
  ATTUNE_FALLBACK = 4        ///< No row: the untuned config.
};
/// What becomes of a row whose kernel is not compiled: the dispatcher's own thread has it compiled, it is served
/// untuned for ever, or the call that needs it waits.
enum { ATTUNE_COMPILE_BACKGROUND = 0, ATTUNE_COMPILE_NEVER = 1, ATTUNE_COMPILE_BLOCKING = 2 };

/// A matrix product: out[m,n] = x[m,k] * w (+ bias), `batch` times. Sizes are in elements.
typedef struct {
  size_t size;
  int64_t m, n, k, batch;
  uint32_t op;         ///< ATTUNE_GEMM_...
  uint32_t in_dtype;   ///< Of x and w; of w where an op has two.
  uint32_t out_dtype;  ///< Of out; the bias has the type of the inputs.
  uint32_t flags;      ///< ATTUNE_BIAS | ...
} attune_gemm_key;
#define ATTUNE_GEMM_KEY_INIT \
  { sizeof(attune_gemm_key), 0, 0, 0, 1, ATTUNE_GEMM_A16W16, ATTUNE_BF16, ATTUNE_BF16, 0 }

/// The answer to a lookup.
typedef struct {
  size_t size;
  uint32_t match;       ///< ATTUNE_EXACT ...
  uint32_t row;         ///< A number that names the row in the tables as they are now; 0: no row.
  uint8_t ready;        ///< 1: a kernel is prepared, and attune_run() starts it at once.
  uint8_t is_stand_in;  ///< 1: another kernel stands in for the row's, which is being made.
  uint8_t drifted;      ///< 1: the row's kernel was made by another compiler or driver.
  /// ATTUNE_PREDICTED: the kernel is at most so many percent slower than the best; 255: or more. Else 0.
  uint8_t regret_percent;
  uint8_t reserved[4];
} attune_hit;
#define ATTUNE_HIT_INIT                                       \
  {                                                           \
    sizeof(attune_hit), ATTUNE_FALLBACK, 0, 0, 0, 0, 0, { 0 } \
  }

/// A table in place of those that the environment and the folders name. Several of one op: the first that has a key
/// wins.
typedef struct {
  const char* op;    ///< `gemm_a16w16`
  const char* file;  ///< Path.
} attune_table;

/// What is 0 is the default.
typedef struct {
  size_t size;
  const char* device;          ///< Null: `cpu:0`.
  const char* capture;         ///< Folder where the shapes that are called are collected; null: nowhere.
  const attune_table* tables;  ///< `num_tables` of them.
  size_t num_tables;
  int64_t poll_interval_ms;  ///< At the tables' files; 0: every second; negative: only attune_reload() looks.
  uint64_t max_plans;        ///< Not looked at any more: max_plan_bytes is.
  uint32_t compile_mode;     ///< ATTUNE_COMPILE_...
  uint8_t lookup_only;       ///< 1: no kernel is prepared by attune_choose().
  uint8_t log_hits;          ///< 1: a line on standard error for the first hit of each shape.
  uint8_t online_tuning;     ///< 1: shapes that no row, or a predicted one, serves are tuned by another process.
  uint8_t reserved;
  /// A predicted match with a larger bound is not used (0.25 is 25 %); 0: 1; negative: nothing is predicted.
  double max_regret;
  /// What kernels that are kept ready hold of the host's memory; beyond it the least recently used leave, and are
  /// prepared again when they are called for. 0: 256 MB; 1: none is kept.
  uint64_t max_plan_bytes;
} attune_options;
#define ATTUNE_OPTIONS_INIT \
  { sizeof(attune_options), 0, 0, 0, 0, 0, 0, ATTUNE_COMPILE_BACKGROUND, 0, 0, 0, 0, 0, 0 }

/// Since the dispatcher was made.
typedef struct {
  size_t size;
  uint64_t calls, misses;          ///< Lookups, and those that no row served.
  uint64_t shapes, missed_shapes;  ///< Distinct ones.
  uint64_t plans, reloads;         ///< Kernels that are kept ready now.
  uint64_t plan_bytes;             ///< What they hold of the host's memory.
  uint64_t evicted_plans;          ///< Those that had to leave,
  uint64_t plan_limit_reached;     ///< and how often attune_options' max_plan_bytes made some leave.
} attune_counters;
#define ATTUNE_COUNTERS_INIT \
  { sizeof(attune_counters), 0, 0, 0, 0, 0, 0, 0, 0, 0 }

typedef struct attune_dispatcher attune_dispatcher;

/// Version of the library: `0.1.0`.
ATTUNE_API const char* attune_version(void);
/// Why the last call of this thread that failed did: one sentence, "" before the first. Valid until the next one fails.
ATTUNE_API const char* attune_last_error(void);
/// `invalid_input`; "unknown" for a number that is none.
ATTUNE_API const char* attune_status_name(int status);
/// `exact`, `padded_fine` …; "unknown" for a number that is none.
ATTUNE_API const char* attune_match_name(uint32_t match);

/// A dispatcher of the caller's own, to be closed. Reads the tables, which takes milliseconds; the libraries that
/// kernels come from are opened when a shape first needs them. `options` may be null.
ATTUNE_API int attune_open(const attune_options* options, attune_dispatcher** dispatcher);
/// The process's own, made at the first call from the environment; never closed, which attune_close() refuses.
ATTUNE_API int attune_global(attune_dispatcher** dispatcher);
/// Ends it, and what it has prepared. Waits for its thread. Refused while it has packed weights. Null is nothing to do.
ATTUNE_API int attune_close(attune_dispatcher* dispatcher);

/// The key of a problem as a person writes it: `gemm_a16w16 m=128 n=1536 k=7168 dtype=bf16 bias=1`. Attributes that are
/// left out are at their defaults. Takes microseconds.
ATTUNE_API int attune_problem_key(const char* text, attune_gemm_key* key);
/// Looks a problem up without running it: no lock, no I/O, no allocation. A new one is told to the dispatcher's own
/// thread, which prepares its kernel: a later call has `ready`.
ATTUNE_API int attune_choose(attune_dispatcher* dispatcher, const attune_gemm_key* key, attune_hit* hit);
/// The same, but a kernel that is missing is prepared now. ATTUNE_UNAVAILABLE when no library takes the problem. `hit`
/// may be null.
ATTUNE_API int attune_require(attune_dispatcher* dispatcher, const attune_gemm_key* key, attune_hit* hit);
/// Runs a problem. `operands`: x, w, bias if there is one, out; rows contiguous, each aligned to 16 bytes, the
/// caller's. No byte of out may be an input's (ATTUNE_INVALID_INPUT). `stream`: of the device; null on a host, where
/// the work is done on return. Prepares a kernel if none is ready.
ATTUNE_API int attune_run(attune_dispatcher* dispatcher, const attune_gemm_key* key, void* const* operands,
                          size_t num_operands, void* stream);
/// The same with named operands. `bias` is null without ATTUNE_BIAS.
ATTUNE_API int attune_gemm(attune_dispatcher* dispatcher, const attune_gemm_key* key, const void* x, const void* w,
                           const void* bias, void* out, void* stream);
/// Runs one candidate, as tables name it (`jit_cpu.gemm@3:bm=4;...`), of a problem as a person writes it. No table is
/// looked at. A kernel that is not compiled is compiled first, which takes seconds. Operands as for attune_run().
/// ATTUNE_INVALID_INPUT for a wrong text or a config outside its space, ATTUNE_UNAVAILABLE when the solver is not here,
/// is of another version or does not take the problem, and when its compiler failed.
ATTUNE_API int attune_run_candidate(attune_dispatcher* dispatcher, const char* problem, const char* candidate,
                                    void* const* operands, size_t num_operands, void* stream);

/// Looks at the tables' files now, and returns when lookups see what changed. `changed` (may be null): 1 if any did.
ATTUNE_API int attune_reload(attune_dispatcher* dispatcher, int* changed);
/// What a lookup does with a problem, in lines for a person, with the kernel's name. Writes at most `capacity` bytes,
/// the last a 0; `length` (may be null) is that of the whole text without its 0. `buffer` may be null if `capacity` is
/// 0.
ATTUNE_API int attune_explain(attune_dispatcher* dispatcher, const attune_gemm_key* key, char* buffer, size_t capacity,
                              size_t* length);
ATTUNE_API int attune_counts(attune_dispatcher* dispatcher, attune_counters* counters);

#ifdef __cplusplus
}
#endif
