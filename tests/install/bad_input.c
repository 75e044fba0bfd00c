/* SPDX-License-Identifier: MIT */
/* Every mistake that a C caller can make and the library can see: a code and a sentence, never a crash. */
#include <attune/attune.h>
#include <attune/attune_candidates.h>
#include <attune/attune_key.h>
#include <attune/attune_weights.h>
#include <attune/attune_workspace.h>
#include <stdio.h>
#include <string.h>

static int wrong = 0;

static void check(int line, int status, int wanted, const char* says) {
  const char* text = attune_last_error();
  if (status == wanted && (wanted == ATTUNE_OK || (strlen(text) > 10 && strstr(text, says) != NULL))) return;
  ++wrong;
  fprintf(stderr, "line %d: %s, wanted %s with '%s': %s\n", line, attune_status_name(status),
          attune_status_name(wanted), says, text);
}
#define WORKS(call) check(__LINE__, (call), ATTUNE_OK, "")
#define REFUSED(call, says) check(__LINE__, (call), ATTUNE_INVALID_INPUT, says)
#define HOLDS(condition) check(__LINE__, (condition) ? ATTUNE_OK : ATTUNE_INTERNAL, ATTUNE_OK, "")

static attune_gemm_key good_key(void) {
  attune_gemm_key key = ATTUNE_GEMM_KEY_INIT;
  key.m = 2;
  key.n = 4;
  key.k = 8;
  key.in_dtype = key.out_dtype = ATTUNE_FP32;
  return key;
}

static void null_pointers(attune_dispatcher* dispatcher) {
  attune_gemm_key key = good_key();
  attune_hit hit = ATTUNE_HIT_INIT;
  attune_counters counters = ATTUNE_COUNTERS_INIT;
  char text[8];
  REFUSED(attune_open(NULL, NULL), "null");
  REFUSED(attune_global(NULL), "null");
  REFUSED(attune_global_on(NULL, &dispatcher), "null");
  WORKS(attune_close(NULL));
  REFUSED(attune_problem_key(NULL, &key), "text");
  REFUSED(attune_problem_key("gemm_a16w16 m=1 n=1 k=1", NULL), "key");
  REFUSED(attune_choose(NULL, &key, &hit), "dispatcher");
  REFUSED(attune_choose(dispatcher, NULL, &hit), "key");
  REFUSED(attune_choose(dispatcher, &key, NULL), "hit");
  REFUSED(attune_require(NULL, &key, &hit), "dispatcher");
  REFUSED(attune_require(dispatcher, NULL, &hit), "key");
  WORKS(attune_require(dispatcher, &key, NULL));
  REFUSED(attune_run(dispatcher, &key, NULL, 3, NULL), "operands");
  REFUSED(attune_run(dispatcher, NULL, NULL, 0, NULL), "key");
  REFUSED(attune_gemm(dispatcher, &key, NULL, NULL, NULL, NULL, NULL), "operand 0");
  REFUSED(attune_reload(NULL, NULL), "dispatcher");
  WORKS(attune_reload(dispatcher, NULL));
  REFUSED(attune_explain(dispatcher, &key, NULL, 8, NULL), "buffer");
  REFUSED(attune_explain(dispatcher, NULL, text, sizeof text, NULL), "key");
  WORKS(attune_explain(dispatcher, &key, NULL, 0, NULL));
  REFUSED(attune_counts(NULL, &counters), "dispatcher");
  REFUSED(attune_counts(dispatcher, NULL), "counters");
}

static void keys(attune_dispatcher* dispatcher) {
  attune_gemm_key key;
  attune_hit hit = ATTUNE_HIT_INIT;
#define REFUSED_KEY(field, value, says)                    \
  do {                                                     \
    key = good_key();                                      \
    key.field = (value);                                   \
    REFUSED(attune_choose(dispatcher, &key, &hit), says);  \
    REFUSED(attune_require(dispatcher, &key, &hit), says); \
  } while (0)
  REFUSED_KEY(m, 0, "m=0");
  REFUSED_KEY(n, -1, "n=-1");
  REFUSED_KEY(k, INT64_MIN, "sizes must be at least 1");
  REFUSED_KEY(batch, 0, "batch=0");
  REFUSED_KEY(op, 8, "unknown op number");
  REFUSED_KEY(op, 0xffffffffu, "unknown op number");
  REFUSED_KEY(in_dtype, ATTUNE_INT4 + 1, "unknown data type number");
  REFUSED_KEY(out_dtype, 0x10000u, "unknown data type number");
  REFUSED_KEY(flags, 32, "flag");
  REFUSED_KEY(size, 0, "the field `size` of a struct must be from 56 to 4096, as its INIT macro sets it; got 0");
  REFUSED_KEY(size, sizeof key - 1, "INIT");
  REFUSED_KEY(size, (size_t)-1, "INIT");
  key = good_key();
  key.m = INT64_MAX; /* More than any library takes: seen when it is prepared. */
  REFUSED(attune_require(dispatcher, &key, &hit), "2147483647");
  key = good_key();
  key.in_dtype = ATTUNE_INT8; /* A type that exists, but not for this op. */
  REFUSED(attune_require(dispatcher, &key, &hit), "int8");
  key = good_key();
  key.batch = 2; /* An op without batches would compute the first one alone. */
  REFUSED(attune_require(dispatcher, &key, &hit), "batch=2");
  key = good_key();
  key.op = ATTUNE_GEMM_A8W8_BPRESHUFFLE;
  check(__LINE__, attune_require(dispatcher, &key, &hit), ATTUNE_UNAVAILABLE, "gemm_a8w8_bpreshuffle");
}

/* A lookup finds nothing for an op that is not known, whatever its number; other calls say the number. */
static void unknown_ops(attune_dispatcher* dispatcher) {
  static const uint32_t ops[] = {100, 0x7fffu, 0x8000u, 0xffffu, 0x10000u, 0xffffffffu};
  for (size_t i = 0; i < sizeof ops / sizeof *ops; ++i) {
    attune_key key = ATTUNE_KEY_INIT;
    attune_hit hit = ATTUNE_HIT_INIT;
    char says[40];
    snprintf(says, sizeof says, "unknown op number: %u", (unsigned)ops[i]);
    key.op = ops[i];
    hit.match = ATTUNE_EXACT;
    WORKS(attune_choose_key(dispatcher, &key, NULL, &hit));
    HOLDS(hit.match == ATTUNE_FALLBACK && hit.row == 0 && hit.ready == 0);
    REFUSED(attune_require_key(dispatcher, &key, NULL, &hit), says);
  }
}

static void texts(void) {
  attune_gemm_key key = ATTUNE_GEMM_KEY_INIT;
  REFUSED(attune_problem_key("", &key), "");
  REFUSED(attune_problem_key("gemm_x m=1", &key), "gemm_x");
  REFUSED(attune_problem_key("gemm_a16w16 m=1 n=2", &key), "'k'");
  REFUSED(attune_problem_key("gemm_a16w16 m=1 n=2 k=three", &key), "three");
  REFUSED(attune_problem_key("gemm_a16w16 m=1 n=2 k=3 colour=red", &key), "colour");
  HOLDS(key.m == 0); /* Nothing is written by a call that fails. */
  WORKS(attune_problem_key("gemm_a16w16 m=1 n=2 k=3 dtype=fp16 outdtype=fp32 bias=1 trans_a=1 trans_b=0", &key));
  HOLDS(key.op == ATTUNE_GEMM_A16W16 && key.m == 1 && key.n == 2 && key.k == 3 && key.batch == 1);
  HOLDS(key.in_dtype == ATTUNE_FP16 && key.out_dtype == ATTUNE_FP32);
  HOLDS(key.flags == (ATTUNE_BIAS | ATTUNE_TRANS_A | ATTUNE_B_IS_KN) && key.size == sizeof key);
}

static void operands(attune_dispatcher* dispatcher) {
  /* Of 16 floats each, 64 bytes apart from a multiple of 16. */
  static float memory[80];
  float* start = memory;
  attune_gemm_key key = good_key();
  void* all[4];
  int i;
  while ((uintptr_t)start % 16 != 0) ++start;
  for (i = 0; i < 4; ++i) all[i] = start + 16 * i;
  REFUSED(attune_run(dispatcher, &key, all, 2, NULL), "3 operands");
  REFUSED(attune_run(dispatcher, &key, all, 4, NULL), "3 operands");
  REFUSED(attune_run(dispatcher, &key, all, 0, NULL), "3 operands");
  REFUSED(attune_gemm(dispatcher, &key, all[0], all[1], all[2], all[3], NULL), "bias");
  key.flags = ATTUNE_BIAS;
  REFUSED(attune_run(dispatcher, &key, all, 3, NULL), "4 operands");
  REFUSED(attune_gemm(dispatcher, &key, all[0], all[1], NULL, all[3], NULL), "bias");
  key.flags = 0;
  all[1] = NULL;
  REFUSED(attune_run(dispatcher, &key, all, 3, NULL), "operand 1");
  all[1] = start + 17;
  REFUSED(attune_run(dispatcher, &key, all, 3, NULL), "aligned");
}

/* An output that shares memory with an input: of 2x8 and 4x8 the result is 2x4. */
static void outputs_over_inputs(attune_dispatcher* dispatcher) {
  static float memory[160];
  float *start = memory, *x, *w, *y, *bias;
  attune_gemm_key key = good_key();
  attune_weights* weights = NULL;
  void* all[3];
  while ((uintptr_t)start % 16 != 0) ++start;
  x = start;
  w = start + 32;
  y = start + 64;
  bias = start + 96;
  WORKS(attune_gemm(dispatcher, &key, x, w, NULL, y, NULL));
  WORKS(attune_gemm(dispatcher, &key, x, x, NULL, y, NULL)); /* Inputs may share. */
  REFUSED(attune_gemm(dispatcher, &key, x, w, NULL, x, NULL), "output c overlaps the input a");
  REFUSED(attune_gemm(dispatcher, &key, x, w, NULL, x + 12, NULL), "the input a");
  REFUSED(attune_gemm(dispatcher, &key, x, w, NULL, w + 28, NULL), "the input b");
  REFUSED(attune_gemm(dispatcher, &key, x, w, NULL, w - 4, NULL), "the input b");
  WORKS(attune_gemm(dispatcher, &key, x, w, NULL, w - 8, NULL));
  all[0] = x;
  all[1] = w;
  all[2] = w;
  REFUSED(attune_run(dispatcher, &key, all, 3, NULL), "the input b");
  REFUSED(
      attune_run_candidate(dispatcher, "gemm_a16w16 m=2 n=4 k=8 dtype=fp32", "portable.gemm@1:block=4x4", all, 3, NULL),
      "the input b");
  WORKS(attune_pack_weights(dispatcher, &key, w, NULL, &weights));
  REFUSED(attune_gemm_packed(dispatcher, &key, x, weights, NULL, x + 4, NULL), "the input a");
  WORKS(attune_gemm_packed(dispatcher, &key, x, weights, NULL, w, NULL)); /* The copy is the library's own. */
  WORKS(attune_free_weights(weights));
  key.flags = ATTUNE_BIAS;
  WORKS(attune_gemm(dispatcher, &key, x, w, bias, y, NULL));
  REFUSED(attune_gemm(dispatcher, &key, x, w, y + 4, y, NULL), "the input bias");
}

static void packed_weights(attune_dispatcher* dispatcher) {
  /* y = x * transpose(w): 2x4 of 2x8 and 4x8, all ones. */
  static float memory[160];
  float* start = memory;
  attune_gemm_key key = good_key(), other = good_key();
  attune_hit hit = ATTUNE_HIT_INIT;
  attune_pack_options options = ATTUNE_PACK_OPTIONS_INIT;
  attune_weights *weights = NULL, *copies = NULL;
  attune_dispatcher* second = NULL;
  const char* layout = "none";
  uint64_t bytes = 0;
  float *x, *w, *y;
  int i;
  while ((uintptr_t)start % 16 != 0) ++start;
  for (i = 0; i < 144; ++i) start[i] = 1;
  x = start;
  w = start + 16;
  y = start + 64;
  REFUSED(attune_pack_weights(NULL, &key, w, NULL, &weights), "dispatcher");
  REFUSED(attune_pack_weights(dispatcher, NULL, w, NULL, &weights), "key");
  REFUSED(attune_pack_weights(dispatcher, &key, NULL, NULL, &weights), "for the w");
  REFUSED(attune_pack_weights(dispatcher, &key, w + 1, NULL, &weights), "aligned");
  REFUSED(attune_pack_weights(dispatcher, &key, w, NULL, NULL), "weights");
  options.size = 3;
  REFUSED(attune_pack_weights(dispatcher, &key, w, &options, &weights), "INIT");
  options.size = sizeof options;
  options.reserved[6] = 1;
  REFUSED(attune_pack_weights(dispatcher, &key, w, &options, &weights), "reserved");
  options.reserved[6] = 0;
  options.max_bytes = 1;
  check(__LINE__, attune_pack_weights(dispatcher, &key, w, &options, &weights), ATTUNE_UNAVAILABLE, "max_bytes");
  HOLDS(weights == NULL);
  options.max_bytes = 0;
  options.per_shape = 1;
  WORKS(attune_pack_weights(dispatcher, &key, w, &options, &copies));
  WORKS(attune_free_weights(copies));
  WORKS(attune_free_weights(NULL));
  WORKS(attune_pack_weights(dispatcher, &key, w, NULL, &weights));
  WORKS(attune_weights_bytes(weights, &bytes));
  HOLDS(bytes >= 4 * 8 * sizeof(float));
  REFUSED(attune_weights_bytes(NULL, &bytes), "weights");
  REFUSED(attune_weights_bytes(weights, NULL), "bytes");
  WORKS(attune_weights_layout(weights, 0, &layout));
  HOLDS(strlen(layout) > 0 && strcmp(layout, "none") != 0);
  check(__LINE__, attune_weights_layout(weights, 1, &layout), ATTUNE_NOT_FOUND, "out of range: 1");
  REFUSED(attune_weights_layout(weights, 0, NULL), "layout");
  REFUSED(attune_weights_layout(NULL, 0, &layout), "weights");
  WORKS(attune_gemm_packed(dispatcher, &key, x, weights, NULL, y, NULL));
  HOLDS(y[0] == 8 && y[7] == 8 && y[8] == 1);
  other.m = 1; /* The same weights at another m. */
  WORKS(attune_gemm_packed(dispatcher, &other, x, weights, NULL, y + 8, NULL));
  HOLDS(y[8] == 8 && y[11] == 8 && y[12] == 1);
  REFUSED(attune_gemm_packed(dispatcher, &key, NULL, weights, NULL, y, NULL), "operand 0");
  REFUSED(attune_gemm_packed(dispatcher, &key, x, NULL, NULL, y, NULL), "weights");
  REFUSED(attune_gemm_packed(dispatcher, &key, x, weights, x, y, NULL), "bias");
  REFUSED(attune_gemm_packed(dispatcher, &key, x, weights, NULL, y + 1, NULL), "aligned");
  other.n = 2;
  REFUSED(attune_gemm_packed(dispatcher, &other, x, weights, NULL, y, NULL), "packed for another problem");
  WORKS(attune_choose_packed(dispatcher, &key, weights, &hit));
  HOLDS(hit.ready == 1);
  WORKS(attune_choose_packed(dispatcher, &other, weights, &hit));
  HOLDS(hit.ready == 0 && hit.row == 0);
  REFUSED(attune_choose_packed(dispatcher, &key, NULL, &hit), "weights");
  REFUSED(attune_choose_packed(dispatcher, &key, weights, NULL), "hit");
  WORKS(attune_require_packed(dispatcher, &key, weights, NULL));
  WORKS(attune_open(NULL, &second));
  REFUSED(attune_require_packed(second, &key, weights, &hit), "another dispatcher");
  copies = NULL;
  WORKS(attune_pack_weights(second, &key, w, NULL, &copies));
  REFUSED(attune_close(second), "free them first: 1");
  WORKS(attune_free_weights(copies));
  WORKS(attune_close(second));
  WORKS(attune_free_weights(weights));
}

/* What attune_candidates() gave. */
typedef struct {
  int count, last;      /* Candidates received, and how many are wanted. */
  char short_name[100]; /* Of the last. */
  char name[200];
} received;

static int receive(void* data, const attune_candidate* candidate) {
  received* const all = (received*)data;
  HOLDS(candidate->size == sizeof *candidate && strcmp(candidate->solver, "portable.gemm") == 0);
  snprintf(all->short_name, sizeof all->short_name, "%s", candidate->short_name);
  snprintf(all->name, sizeof all->name, "%s", candidate->name);
  return ++all->count == all->last;
}

static void numbers(attune_dispatcher* dispatcher, const char* problem, void* const* operands, const float* result) {
  received all = {0, 0, "", ""}, first = {0, 1, "", ""}, none = {0, 0, "", ""};
  uint64_t limit = 0;
  char beyond[100];
  WORKS(attune_candidates(dispatcher, problem, "portable", 0, 1000, receive, &all, &limit));
  HOLDS(all.count > 1 && limit >= (uint64_t)all.count && strncmp(all.name, "portable.gemm@", 14) == 0);
  WORKS(attune_candidates(dispatcher, problem, "portable.gemm", 0, 1000, receive, &first, NULL));
  HOLDS(first.count == 1 && strcmp(first.name, all.name) != 0);
  WORKS(attune_candidates(dispatcher, problem, "portable", limit, 1000, receive, &none, NULL));
  HOLDS(none.count == 0);
  *(float*)operands[2] = 0;
  WORKS(attune_run_candidate(dispatcher, problem, all.short_name, operands, 3, NULL));
  HOLDS(result[0] == 8);
  snprintf(beyond, sizeof beyond, "portable#%lu", (unsigned long)limit);
  REFUSED(attune_run_candidate(dispatcher, problem, beyond, operands, 3, NULL), beyond);
  REFUSED(attune_run_candidate(dispatcher, problem, "portable#x", operands, 3, NULL), "solver#number");
  check(__LINE__, attune_run_candidate(dispatcher, problem, "gone#0", operands, 3, NULL), ATTUNE_UNAVAILABLE, "gone");
  check(__LINE__, attune_candidates(dispatcher, problem, "gone", 0, 1, receive, &none, NULL), ATTUNE_UNAVAILABLE,
        "gone");
  REFUSED(attune_candidates(NULL, problem, NULL, 0, 1, receive, &none, NULL), "dispatcher");
  REFUSED(attune_candidates(dispatcher, NULL, NULL, 0, 1, receive, &none, NULL), "problem");
  REFUSED(attune_candidates(dispatcher, problem, NULL, 0, 1, NULL, &none, NULL), "receiver");
  REFUSED(attune_candidates(dispatcher, "gemm_a16w16 m=2", NULL, 0, 1, receive, &none, NULL), "'");
  HOLDS(none.count == 0);
}

static void candidates(attune_dispatcher* dispatcher) {
  const char* problem = "gemm_a16w16 m=2 n=4 k=8 dtype=fp32";
  const char* config = "portable.gemm@1:block=4x4";
  static float memory[80];
  float* start = memory;
  void* all[4];
  int i;
  while ((uintptr_t)start % 16 != 0) ++start;
  for (i = 0; i < 4; ++i) all[i] = start + 16 * i;
  all[2] = start + 48; /* Behind the 32 of b. */
  for (i = 0; i < 48; ++i) start[i] = 1;
#define RUN(problem, candidate, count) attune_run_candidate(dispatcher, problem, candidate, all, count, NULL)
  WORKS(RUN(problem, config, 3));
  HOLDS(start[47] == 1 && start[48] == 8 && start[55] == 8 && start[56] == 0);
  numbers(dispatcher, problem, all, start + 48);
  REFUSED(attune_run_candidate(NULL, problem, config, all, 3, NULL), "dispatcher");
  REFUSED(attune_run_candidate(dispatcher, problem, config, NULL, 3, NULL), "operands");
  REFUSED(RUN(NULL, config, 3), "problem");
  REFUSED(RUN(problem, NULL, 3), "candidate");
  REFUSED(RUN(problem, config, 2), "3 operands");
  REFUSED(RUN(problem, "gemm", 3), "solver@version:config");
  REFUSED(RUN(problem, "portable.gemm@1:colour=1", 3), "colour");
  REFUSED(RUN("gemm_a16w16 m=2", config, 3), "'");
  check(__LINE__, RUN(problem, "gone.gemm@1:a=1", 3), ATTUNE_UNAVAILABLE, "gone.gemm");
  check(__LINE__, RUN(problem, "portable.gemm@999:block=4x4", 3), ATTUNE_UNAVAILABLE, "999");
  all[1] = start + 17;
  REFUSED(RUN(problem, config, 3), "aligned");
  all[1] = NULL;
  REFUSED(RUN(problem, config, 3), "operand 1");
}

static void options(void) {
  attune_dispatcher* dispatcher = NULL;
  attune_options wanted = ATTUNE_OPTIONS_INIT;
  attune_table table = {"gemm_a16w16", NULL};
#define REFUSED_OPTION(field, value, says)           \
  do {                                               \
    attune_options fresh = ATTUNE_OPTIONS_INIT;      \
    fresh.field = (value);                           \
    REFUSED(attune_open(&fresh, &dispatcher), says); \
    HOLDS(dispatcher == NULL);                       \
  } while (0)
  REFUSED_OPTION(device, "cpu:99", "cpu:99");
  REFUSED_OPTION(device, "", "");
  REFUSED_OPTION(compile_mode, 7, "7");
  REFUSED_OPTION(num_tables, 1, "tables");
  REFUSED_OPTION(size, 8, "INIT");
  {
    attune_workspace_allocator half = ATTUNE_WORKSPACE_ALLOCATOR_INIT;
    REFUSED_OPTION(workspaces, &half, "both functions");
    half.size = 1;
    REFUSED_OPTION(workspaces, &half, "INIT");
  }
  wanted.tables = &table;
  wanted.num_tables = 1;
  REFUSED(attune_open(&wanted, &dispatcher), "op and a file");
  table.op = "gemm_x";
  table.file = "x.csv";
  REFUSED(attune_open(&wanted, &dispatcher), "gemm_x");
  table.op = "gemm_a16w16"; /* A table that is not there is skipped and reported. */
  WORKS(attune_open(&wanted, &dispatcher));
  WORKS(attune_close(dispatcher));
}

/* Structs of other versions of the library. */
static void growth(attune_dispatcher* dispatcher) {
  struct {
    attune_gemm_key key;
    int64_t later;
  } longer_key;
  struct {
    attune_hit hit;
    int64_t later;
  } longer_hit;
  attune_hit empty = ATTUNE_HIT_INIT;
  longer_key.key = good_key();
  longer_key.key.size = sizeof longer_key;
  longer_key.later = 0;
  longer_hit.hit = empty;
  longer_hit.hit.size = sizeof longer_hit;
  longer_hit.later = 17;
  WORKS(attune_require(dispatcher, &longer_key.key, &longer_hit.hit));
  HOLDS(longer_hit.hit.ready == 1 && longer_hit.later == 17 && longer_hit.hit.size == sizeof longer_hit);
  longer_key.later = 1;
  REFUSED(attune_require(dispatcher, &longer_key.key, &longer_hit.hit), "does not know");
  empty.size = 4;
  longer_key.later = 0;
  REFUSED(attune_require(dispatcher, &longer_key.key, &empty), "INIT");
}

static void results(attune_dispatcher* dispatcher) {
  attune_gemm_key key = good_key();
  attune_counters before = ATTUNE_COUNTERS_INIT, after = ATTUNE_COUNTERS_INIT;
  attune_hit hit = ATTUNE_HIT_INIT;
  char whole[2048], part[8];
  size_t length = 0, short_length = 0;
  WORKS(attune_require(dispatcher, &key, &hit));
  HOLDS(hit.ready == 1 && hit.match == ATTUNE_FALLBACK && hit.row == 0);
  WORKS(attune_counts(dispatcher, &before));
  WORKS(attune_choose(dispatcher, &key, &hit));
  WORKS(attune_counts(dispatcher, &after));
  HOLDS(after.calls == before.calls + 1 && after.misses == before.misses + 1);
  HOLDS(after.plans >= 1 && after.plan_bytes > 0 && after.evicted_plans == 0 && after.plan_limit_reached == 0);
  WORKS(attune_explain(dispatcher, &key, whole, sizeof whole, &length));
  WORKS(attune_explain(dispatcher, &key, part, sizeof part, &short_length));
  HOLDS(length == strlen(whole) && short_length == length && length > 8);
  HOLDS(strlen(part) == 7 && strncmp(part, whole, 7) == 0);
}

int main(void) {
  attune_dispatcher *own = NULL, *global = NULL, *again = NULL;
  HOLDS(strcmp(attune_last_error(), "") == 0);
  WORKS(attune_open(NULL, &own));
  WORKS(attune_global(&global));
  WORKS(attune_global(&again));
  HOLDS(global == again && global != own);
  WORKS(attune_global_on("cpu:0", &again));
  HOLDS(global == again);
  REFUSED(attune_global_on("cpu:99", &again), "cpu:99");
  null_pointers(own);
  keys(own);
  texts();
  unknown_ops(own);
  operands(own);
  outputs_over_inputs(own);
  packed_weights(own);
  candidates(own);
  options();
  growth(own);
  results(global);
  REFUSED(attune_close(global), "cannot be closed");
  WORKS(attune_close(own));
  HOLDS(strcmp(attune_status_name(ATTUNE_DEVICE), "device") == 0 && strcmp(attune_status_name(99), "unknown") == 0);
  HOLDS(strcmp(attune_status_name(-1), "unknown") == 0);
  HOLDS(strcmp(attune_match_name(ATTUNE_EXACT), "exact") == 0 && strcmp(attune_match_name(5), "unknown") == 0);
  HOLDS(strcmp(attune_match_name(ATTUNE_FALLBACK), "fallback") == 0);
  printf("%s: %d wrong\n", attune_version(), wrong);
  return wrong == 0 ? 0 : 1;
}
