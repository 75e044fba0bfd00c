/* SPDX-License-Identifier: MIT */
/* A linear layer, y = x * transpose(w), from C. Any problem: linear_c "gemm_a16w16 m=8 n=64 k=32 dtype=fp32". */
#include <attune/attune.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int failed(const char* what, int status) {
  fprintf(stderr, "linear_c: %s: %s: %s\n", what, attune_status_name(status), attune_last_error());
  return 1;
}

/* What malloc gives is aligned to 16 bytes on this platform. */
static float* numbers(size_t count, unsigned seed) {
  size_t i;
  float* made = malloc(count * sizeof *made);
  for (i = 0; made != NULL && i < count; ++i) {
    seed = seed * 1664525u + 1013904223u;
    made[i] = (float)(seed >> 8) / (float)(1 << 23) - 1.0f;
  }
  return made;
}

/* The largest difference to a plain loop. */
static double worst(const attune_gemm_key* key, const float* x, const float* w, const float* y) {
  double most = 0;
  int64_t i, j, l;
  for (i = 0; i < key->m; ++i) {
    for (j = 0; j < key->n; ++j) {
      double sum = 0;
      for (l = 0; l < key->k; ++l) sum += (double)x[i * key->k + l] * w[j * key->k + l];
      most = fmax(most, fabs(sum - y[i * key->n + j]));
    }
  }
  return most;
}

static int run(attune_dispatcher* dispatcher, const attune_gemm_key* key, const float* x, const float* w, float* y) {
  attune_hit hit = ATTUNE_HIT_INIT;
  char text[1024]; /* With the file and line of the row. */
  double difference;
  int status = attune_gemm(dispatcher, key, x, w, NULL, y, NULL);
  if (status != ATTUNE_OK) return failed("cannot run the product", status);
  status = attune_choose(dispatcher, key, &hit);
  if (status != ATTUNE_OK) return failed("cannot look up the product", status);
  status = attune_explain(dispatcher, key, text, sizeof text, NULL);
  if (status != ATTUNE_OK) return failed("cannot explain the lookup", status);
  difference = worst(key, x, w, y);
  printf("match: %s\n%s", attune_match_name(hit.match), text);
  printf("largest difference to a plain loop: %.3g\n", difference);
  return difference < 1e-3 ? 0 : 1;
}

int main(int argc, char** argv) {
  const char* problem = argc > 1 ? argv[1] : "gemm_a16w16 m=4 n=96 k=64 dtype=fp32";
  attune_gemm_key key = ATTUNE_GEMM_KEY_INIT;
  attune_dispatcher* dispatcher = NULL;
  float *x, *w, *y;
  int result = 1;
  int status = attune_problem_key(problem, &key);
  if (status != ATTUNE_OK) return failed("cannot read the problem", status);
  if (key.in_dtype != ATTUNE_FP32 || key.out_dtype != ATTUNE_FP32 || key.flags != 0) {
    fprintf(stderr, "linear_c: this example multiplies plain fp32 matrices only: %s\n", problem);
    return 1;
  }
  status = attune_global(&dispatcher);
  if (status != ATTUNE_OK) return failed("cannot open the dispatcher", status);
  x = numbers((size_t)(key.m * key.k), 1);
  w = numbers((size_t)(key.n * key.k), 2);
  y = numbers((size_t)(key.m * key.n), 3);
  if (x != NULL && w != NULL && y != NULL) result = run(dispatcher, &key, x, w, y);
  free(x);
  free(w);
  free(y);
  return result;
}
