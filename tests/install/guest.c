/* SPDX-License-Identifier: MIT */
/* A program that uses the C interface in every way that crosses a boundary of libraries: guest CALLS TABLE NEXT_TABLE
 * CANDIDATE …. TABLE, which the environment names, has a row for 48×96×64 whose kernel has to be compiled; NEXT_TABLE
 * replaces it. Ends with 0, or says what went wrong. Also compiled as C++, for compilers of other run times. */
#define _GNU_SOURCE
#include <attune/attune.h>
#include <attune/attune_weights.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_M = 48, MAX_N = 96, MAX_K = 113, ROW_M = 48, ROW_N = 96, ROW_K = 64 };
static const int sizes[10] = {1, 2, 3, 5, 7, 8, 16, 17, 33, 48};
static float x[MAX_M * MAX_K], w[MAX_N * MAX_K], y[MAX_M * MAX_N];
static attune_dispatcher* dispatcher;

static void die(const char* what) {
  fprintf(stderr, "guest: %s: %s\n", what, attune_last_error());
  exit(1);
}
#define WORKS(call)                      \
  do {                                   \
    if ((call) != ATTUNE_OK) die(#call); \
  } while (0)

static attune_gemm_key key_of(int m, int n, int k) {
  attune_gemm_key key = ATTUNE_GEMM_KEY_INIT;
  key.m = m;
  key.n = n;
  key.k = k;
  key.in_dtype = key.out_dtype = ATTUNE_FP32;
  return key;
}

/* Small whole numbers: sums are exact in any order. */
static void fill(void) {
  int i;
  for (i = 0; i < MAX_M * MAX_K; ++i) x[i] = (float)(i * 7 % 5 - 2);
  for (i = 0; i < MAX_N * MAX_K; ++i) w[i] = (float)(i * 3 % 7 - 3);
}

static void check(const char* who, int m, int n, int k) {
  int i, j, l;
  for (i = 0; i < m; ++i) {
    for (j = 0; j < n; ++j) {
      float sum = 0;
      for (l = 0; l < k; ++l) sum += x[i * k + l] * w[j * k + l];
      if (y[i * n + j] != sum) die(who);
    }
  }
  memset(y, 0, sizeof y);
}

static void call(int m, int n, int k) {
  const attune_gemm_key key = key_of(m, n, k);
  WORKS(attune_gemm(dispatcher, &key, x, w, NULL, y, NULL));
  check("a product", m, n, k);
}

static void run_candidates(char** candidates) {
  void* operands[3];
  operands[0] = x;
  operands[1] = w;
  operands[2] = y;
  for (; *candidates != NULL; ++candidates) {
    WORKS(attune_run_candidate(dispatcher, "gemm_a16w16 m=48 n=96 k=64 dtype=fp32", *candidates, operands, 3, NULL));
    check(*candidates, ROW_M, ROW_N, ROW_K);
  }
}

static void wait_for_the_kernel(void) {
  const attune_gemm_key key = key_of(ROW_M, ROW_N, ROW_K);
  attune_hit hit = ATTUNE_HIT_INIT;
  int i;
  for (i = 0; i < 6000; ++i) {
    call(ROW_M, ROW_N, ROW_K);
    WORKS(attune_choose(dispatcher, &key, &hit));
    if (hit.match == ATTUNE_EXACT && hit.ready && !hit.is_stand_in) return;
    usleep(10000);
  }
  die("the row's kernel is never ready");
}

static void expect_errors(void) {
  const attune_gemm_key key = key_of(0, 8, 8);
  attune_hit hit = ATTUNE_HIT_INIT;
  void* operands[3];
  if (attune_require(dispatcher, &key, &hit) != ATTUNE_INVALID_INPUT || strstr(attune_last_error(), "m=0") == NULL)
    die("an error of the library");
  operands[0] = x;
  operands[1] = w;
  operands[2] = y;
  /* Thrown by the solver's module. */
  if (attune_run_candidate(dispatcher, "gemm_a16w16 m=48 n=96 k=64 dtype=fp32", "onednn.gemm@1:impl=none;threads=1",
                           operands, 3, NULL) == ATTUNE_OK)
    die("an error of a module");
}

static void reload(const char* table, const char* next) {
  int changed = 0;
  if (rename(next, table) != 0) die("rename");
  WORKS(attune_reload(dispatcher, &changed));
  call(ROW_M, ROW_N, ROW_K);
}

static void pack_weights(void) {
  const attune_gemm_key key = key_of(ROW_M, ROW_N, ROW_K);
  attune_weights* weights = NULL;
  WORKS(attune_pack_weights(dispatcher, &key, w, NULL, &weights));
  WORKS(attune_gemm_packed(dispatcher, &key, x, weights, NULL, y, NULL));
  check("packed weights", ROW_M, ROW_N, ROW_K);
  WORKS(attune_free_weights(weights));
}

int main(int argc, char** argv) {
  int i;
  if (argc < 5) return 2;
  fill();
  WORKS(attune_global(&dispatcher));
  run_candidates(argv + 4);
  wait_for_the_kernel();
  expect_errors();
  for (i = 0; i < atoi(argv[1]); ++i) {
    if (i % 2 != 0)
      call(sizes[i / 2 % 10], 37, 113);
    else
      call(sizes[i / 2 % 10], 41, 64);
  }
  pack_weights();
  reload(argv[2], argv[3]);
  return 0;
}
