// SPDX-License-Identifier: MIT
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "attune/export.h"

/// The run time for C and for languages that call C. docs/lookups.md explains what a lookup does.
///
/// Every function that can fail returns an attune_status and writes its results only when the status is ATTUNE_OK. No
/// function throws or ends the process, and a null pointer for a required argument is ATTUNE_INVALID_INPUT. Any thread
/// may call any function at any time, except for attune_close(), after which the dispatcher must not be used. Texts are
/// UTF-8 and end with 0; the library copies those passed in and owns those passed out.
///
/// A struct with `size` is set up with its INIT macro. A program then keeps working with a later library whose struct
/// is longer, and with an earlier library as long as it does not use fields unknown to that library.

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  ATTUNE_OK = 0,
  ATTUNE_INVALID_INPUT = 1,  ///< The caller's mistake.
  ATTUNE_NOT_FOUND = 2,
  ATTUNE_UNAVAILABLE = 3,  ///< No library on this machine supports it, or there is no memory.
  ATTUNE_IO = 4,
  ATTUNE_DATABASE = 5,
  ATTUNE_DEVICE = 6,  ///< The device, or the library that was to run, refused.
  ATTUNE_TIMEOUT = 7,
  ATTUNE_INTERNAL = 8  ///< A bug in Attune.
} attune_status;

/// Later versions add values at the ends of these enums.
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
  ATTUNE_E8M0 = 11,
  ATTUNE_INT4 = 12
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
  ATTUNE_PADDED_FINE = 1,    ///< A row of a slightly larger m.
  ATTUNE_PADDED_COARSE = 2,  ///< A row of the next power of two.
  ATTUNE_PREDICTED = 3,      ///< A row chosen by a model of the table.
  ATTUNE_FALLBACK = 4        ///< No row matches: the default config.
};
/// How a row whose kernel is not compiled is served: by the default config until the dispatcher's own thread has
/// compiled it, always by the default config, or after the call has waited for the compiler.
enum { ATTUNE_COMPILE_BACKGROUND = 0, ATTUNE_COMPILE_NEVER = 1, ATTUNE_COMPILE_BLOCKING = 2 };
/// Requirements of the results of kernels; each includes those before it. Deterministic: equal bits in every launch and
/// process. Batch-invariant: besides, a row of the result depends neither on m nor on its place.
enum { ATTUNE_REQUIRE_NONE = 0, ATTUNE_REQUIRE_DETERMINISTIC = 1, ATTUNE_REQUIRE_BATCH_INVARIANT = 2 };

/// A matrix product: out[m,n] = x[m,k] * w (+ bias), repeated `batch` times. Sizes are in elements.
typedef struct {
  size_t size;
  int64_t m, n, k, batch;
  uint32_t op;         ///< ATTUNE_GEMM_...
  uint32_t in_dtype;   ///< Type of x and w; type of w where an op has two.
  uint32_t out_dtype;  ///< Type of out; the bias has the type of the inputs.
  uint32_t flags;      ///< ATTUNE_BIAS | ...
} attune_gemm_key;
#define ATTUNE_GEMM_KEY_INIT \
  { sizeof(attune_gemm_key), 0, 0, 0, 1, ATTUNE_GEMM_A16W16, ATTUNE_BF16, ATTUNE_BF16, 0 }

/// The answer to a lookup.
typedef struct {
  size_t size;
  uint32_t match;       ///< ATTUNE_EXACT ...
  uint32_t row;         ///< A number that names the row in the current tables; 0: no row.
  uint8_t ready;        ///< 1: a kernel is prepared, and attune_run() starts it at once.
  uint8_t is_stand_in;  ///< 1: another kernel stands in for the row's, which is being prepared.
  uint8_t drifted;      ///< 1: another compiler or driver made the row's kernel.
  /// Bound of an ATTUNE_PREDICTED kernel: at most this many percent slower than the best; 255: 255 or more. Else 0.
  uint8_t regret_percent;
  uint8_t reserved[4];
} attune_hit;
#define ATTUNE_HIT_INIT                                       \
  {                                                           \
    sizeof(attune_hit), ATTUNE_FALLBACK, 0, 0, 0, 0, 0, { 0 } \
  }

/// A table to use in place of those that the environment and the folders name. Among several tables of one op, the
/// first that has a key wins.
typedef struct {
  const char* op;    ///< `gemm_a16w16`
  const char* file;  ///< Path.
} attune_table;

typedef struct attune_workspace_allocator attune_workspace_allocator;

/// Options of attune_open(). A field that is 0 has its default.
typedef struct {
  size_t size;
  const char* device;          ///< Null: `cpu:0`.
  const char* capture;         ///< Folder in which the called shapes are collected; null: none.
  const attune_table* tables;  ///< `num_tables` of them.
  size_t num_tables;
  int64_t poll_interval_ms;  ///< Interval between checks of the tables' files. 0: 1000; negative: only attune_reload()
                             ///< checks.
  uint64_t max_plans;        ///< Ignored; max_plan_bytes replaced it.
  uint32_t compile_mode;     ///< ATTUNE_COMPILE_...
  uint8_t lookup_only;       ///< 1: attune_choose() prepares no kernel.
  uint8_t log_hits;          ///< 1: log the first hit of each shape to standard error, one line each.
  /// 1: another process tunes shapes that no row, or only a predicted one, serves; on a GPU it takes an unused one of
  /// equal fingerprint. 2: on a GPU it may take the application's own.
  uint8_t online_tuning;
  uint8_t reserved;
  /// Largest bound of a predicted match that is used (0.25 is 25 %). 0: 1; negative: no match is predicted.
  double max_regret;
  /// Maximum host memory, in bytes, that prepared kernels may hold. Beyond it the least recently used are evicted, and
  /// prepared again when they are next called. 0: 256 MB; 1: no kernel is kept.
  uint64_t max_plan_bytes;
  int32_t threads;  ///< Thread limit, as for attune_set_threads(). 0: the process's own.
  /// Requirement that every kernel must keep: ATTUNE_REQUIRE_... Rows that do not state it are not seen, and a problem
  /// that no kernel serves so is ATTUNE_UNAVAILABLE. Libraries older than the field refuse it.
  uint32_t require;
  /// Allocator of the application for kernels' workspaces (attune/attune_workspace.h). Null: the device's memory.
  const attune_workspace_allocator* workspaces;
  /// How long a call on a stream that is being captured waits for the kernel of its row. 0: 30000; negative: no call
  /// waits.
  int64_t graph_wait_ms;
} attune_options;
#define ATTUNE_OPTIONS_INIT                                                                                           \
  {                                                                                                                   \
    sizeof(attune_options), 0, 0, 0, 0, 0, 0, ATTUNE_COMPILE_BACKGROUND, 0, 0, 0, 0, 0, 0, 0, ATTUNE_REQUIRE_NONE, 0, \
        0                                                                                                             \
  }

/// Counters since the dispatcher was created.
typedef struct {
  size_t size;
  uint64_t calls, misses;          ///< Lookups; lookups that no row served.
  uint64_t shapes, missed_shapes;  ///< Distinct shapes; distinct shapes that no row served.
  uint64_t plans, reloads;         ///< Kernels kept ready now; reloads of the tables.
  uint64_t plan_bytes;             ///< Host memory that these kernels hold.
  uint64_t evicted_plans;          ///< Kernels evicted.
  uint64_t plan_limit_reached;     ///< Times that max_plan_bytes, or the bound of workspaces, forced an eviction.
  /// Kernels that captured graphs hold now, beside the bytes above: each once for every graph and stream of its
  /// capture. 0 in libraries older than the field.
  uint64_t captured_plans;
  /// Launches in captured graphs that keep a default kernel, because the kernel of the row was not compiled in time or
  /// cannot be. 0 in libraries older than the field.
  uint64_t captured_stand_ins;
} attune_counters;
#define ATTUNE_COUNTERS_INIT \
  { sizeof(attune_counters), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

typedef struct attune_dispatcher attune_dispatcher;

/// Version of the library: `0.1.0`.
ATTUNE_API const char* attune_version(void);
/// The reason why the last failed call of this thread failed: one sentence, "" before the first. The text is valid
/// until the next call of this thread fails.
ATTUNE_API const char* attune_last_error(void);
/// Name of a status: `invalid_input`; "unknown" for any other number.
ATTUNE_API const char* attune_status_name(int status);
/// Name of a match: `exact`, `padded_fine` …; "unknown" for any other number.
ATTUNE_API const char* attune_match_name(uint32_t match);

/// Creates a dispatcher that the caller must close. Reads the tables, which takes milliseconds; libraries of kernels
/// are opened when a shape first needs them. `options` may be null.
ATTUNE_API int attune_open(const attune_options* options, attune_dispatcher** dispatcher);
/// Returns the process's own dispatcher, created at the first call from the environment. It is never closed;
/// attune_close() refuses it.
ATTUNE_API int attune_global(attune_dispatcher** dispatcher);
/// Returns the process's own dispatcher of a device: "cuda:1". There is one for each device; that of the device that
/// the environment names is attune_global()'s.
ATTUNE_API int attune_global_on(const char* device, attune_dispatcher** dispatcher);
/// Ends a dispatcher and frees the kernels that it prepared. Waits for its thread. Refused while packed weights of the
/// dispatcher exist. Null is accepted and does nothing.
ATTUNE_API int attune_close(attune_dispatcher* dispatcher);

/// Parses the text of a problem: `gemm_a16w16 m=128 n=1536 k=7168 dtype=bf16 bias=1`. Missing attributes get their
/// defaults. Takes microseconds.
ATTUNE_API int attune_problem_key(const char* text, attune_gemm_key* key);
/// Looks a problem up without running it: no lock, no I/O, no allocation. The dispatcher's own thread prepares the
/// kernel of a new problem; a later call then has `ready`.
ATTUNE_API int attune_choose(attune_dispatcher* dispatcher, const attune_gemm_key* key, attune_hit* hit);
/// Like attune_choose(), but prepares a missing kernel before it returns. ATTUNE_UNAVAILABLE when no library supports
/// the problem. `hit` may be null.
ATTUNE_API int attune_require(attune_dispatcher* dispatcher, const attune_gemm_key* key, attune_hit* hit);
/// Runs a problem, and prepares a kernel if none is ready. `operands`: x, w, bias if there is one, out, owned by the
/// caller; rows are contiguous, each operand aligned to 16 bytes. No byte of out may be an input's
/// (ATTUNE_INVALID_INPUT). `stream`: a stream of the device; null on a host, where the work is done on return.
ATTUNE_API int attune_run(attune_dispatcher* dispatcher, const attune_gemm_key* key, void* const* operands,
                          size_t num_operands, void* stream);
/// Like attune_run() with named operands. `bias` is null without ATTUNE_BIAS.
ATTUNE_API int attune_gemm(attune_dispatcher* dispatcher, const attune_gemm_key* key, const void* x, const void* w,
                           const void* bias, void* out, void* stream);
/// Runs one candidate, named as in tables (`jit_cpu.gemm@3:bm=4;...`) or numbered as attune_candidates() does
/// (`cublaslt#17`), on a problem in the text form of attune_problem_key(). No table is read. A kernel that is not
/// compiled is compiled first, which takes seconds. Operands as for attune_run(). ATTUNE_INVALID_INPUT for a wrong text
/// or a config outside its space; ATTUNE_UNAVAILABLE when the solver is missing, has another version or does not
/// support the problem, and when its compiler failed.
ATTUNE_API int attune_run_candidate(attune_dispatcher* dispatcher, const char* problem, const char* candidate,
                                    void* const* operands, size_t num_operands, void* stream);

/// Sets the thread limit of all later calls, of all threads: the least of `threads` (0: no limit of its own), the cores
/// and the CPU quota of this process, ATTUNE_THREADS, OMP_NUM_THREADS and OMP_THREAD_LIMIT. Rows for that many threads
/// are served and no others, and no kernel starts more. `limit` (may be null): the limit that now holds. The first call
/// with a limit reads the tables; later ones take nanoseconds. Without effect on a device that is no host.
/// ATTUNE_INVALID_INPUT for a negative number.
ATTUNE_API int attune_set_threads(attune_dispatcher* dispatcher, int32_t threads, int32_t* limit);

/// Frees the memory of the device that the dispatcher holds and can make again, for an application that ran out of
/// memory and tries once more: prepared kernels that no call in progress, captured graph or other thread's last call
/// uses, with their workspaces. The next call of each problem prepares its kernel again. Packed weights, tables and
/// opened libraries stay. Waits for the device; frees nothing while a stream may be captured. `bytes` (may be null):
/// the freed bytes. Any thread may call it, but not from within an attune_workspace_allocator.
ATTUNE_API int attune_release_memory(attune_dispatcher* dispatcher, uint64_t* bytes);
/// Checks the tables' files now, and returns when lookups see the changes. `changed` (may be null): 1 if any file
/// changed.
ATTUNE_API int attune_reload(attune_dispatcher* dispatcher, int* changed);
/// Describes what a lookup does with a problem, in lines for a person, with the kernel's name. Writes at most
/// `capacity` bytes, the last a 0; `length` (may be null) is the length of the whole text without its 0. `buffer` may
/// be null if `capacity` is 0.
ATTUNE_API int attune_explain(attune_dispatcher* dispatcher, const attune_gemm_key* key, char* buffer, size_t capacity,
                              size_t* length);
ATTUNE_API int attune_counts(attune_dispatcher* dispatcher, attune_counters* counters);

#ifdef __cplusplus
}
#endif
