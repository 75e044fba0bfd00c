/* SPDX-License-Identifier: MIT */
/* What an application may do around the library: fork, end while threads are in it, lose the reader of its standard
 * error. Each act ends with 0, or says what went wrong. */
#define _GNU_SOURCE
#include <attune/attune.h>
#include <attune/attune_weights.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { M = 48, N = 256, K = 256 };
static const char* const problem = "gemm_a16w16 m=48 n=256 k=256 dtype=fp32";
static float *x, *w, *y;
static attune_dispatcher* dispatcher;

static void die(const char* what) {
  fprintf(stderr, "embedding: %s: %s (errno %d)\n", what, attune_last_error(), errno);
  _exit(1);
}
#define WORKS(call)                      \
  do {                                   \
    if ((call) != ATTUNE_OK) die(#call); \
  } while (0)

static float* numbers(size_t count) {
  void* memory = NULL;
  if (posix_memalign(&memory, 64, count * sizeof(float)) != 0) die("memory");
  memset(memory, 0, count * sizeof(float));
  return memory;
}

static void fill(void) {
  size_t i;
  x = numbers(M * K);
  w = numbers(N * K);
  y = numbers(M * N);
  for (i = 0; i < M * K; ++i) x[i] = (float)((int)(i * 7 % 5) - 2);
  for (i = 0; i < N * K; ++i) w[i] = (float)((int)(i * 3 % 7) - 3);
}

/* Small whole numbers: sums are exact in any order. */
static void check(const char* who, int rows) {
  int i, j, k;
  for (i = 0; i < rows; ++i) {
    for (j = 0; j < N; ++j) {
      float sum = 0;
      for (k = 0; k < K; ++k) sum += x[i * K + k] * w[j * K + k];
      if (y[i * N + j] != sum) {
        fprintf(stderr, "embedding: %s: element %d,%d is %g, not %g\n", who, i, j, (double)y[i * N + j], (double)sum);
        _exit(1);
      }
    }
  }
  memset(y, 0, sizeof(float) * M * N);
}

static attune_gemm_key key_of(int64_t m) {
  attune_gemm_key key = ATTUNE_GEMM_KEY_INIT;
  key.m = m;
  key.n = N;
  key.k = K;
  key.in_dtype = key.out_dtype = ATTUNE_FP32;
  return key;
}

static void run_candidate(const char* who, const char* candidate) {
  void* operands[3];
  operands[0] = x;
  operands[1] = w;
  operands[2] = y;
  WORKS(attune_run_candidate(dispatcher, problem, candidate, operands, 3, NULL));
  check(who, M);
}

static void run_packed(const char* who) {
  const attune_gemm_key key = key_of(M);
  attune_weights* weights = NULL;
  WORKS(attune_pack_weights(dispatcher, &key, w, NULL, &weights));
  WORKS(attune_gemm_packed(dispatcher, &key, x, weights, NULL, y, NULL));
  check(who, M);
  WORKS(attune_free_weights(weights));
}

/* Ends with the child's status; a child that hangs is killed after a while that no loaded machine needs. */
static void wait_for(pid_t child) {
  int status = 0, i;
  for (i = 0; i < 4000; ++i) {
    const pid_t ended = waitpid(child, &status, WNOHANG);
    if (ended == child) {
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
      fprintf(stderr, "embedding: the child ended with status %#x\n", status);
      _exit(1);
    }
    usleep(10000);
  }
  kill(child, SIGKILL);
  fprintf(stderr, "embedding: the child hangs\n");
  _exit(1);
}

static void* run_in_a_thread(void* candidate) {
  run_candidate("a thread of the child", candidate);
  return NULL;
}

/* All that a child may want: the plan that there was, a new one, weights, a reload; in its own thread and in another,
 * and a child of its own. */
static void be_a_child(const char* candidate, int depth) {
  attune_gemm_key key;
  pthread_t thread;
  pid_t child;
  run_candidate("the child", candidate);
  key = key_of(M);
  WORKS(attune_gemm(dispatcher, &key, x, w, NULL, y, NULL));
  check("the child's own shape", M);
  key = key_of(16 + depth); /* New in this process. */
  WORKS(attune_gemm(dispatcher, &key, x, w, NULL, y, NULL));
  check("a new shape of the child", 16 + depth);
  run_packed("weights of the child");
  WORKS(attune_reload(dispatcher, NULL));
  if (pthread_create(&thread, NULL, run_in_a_thread, (void*)candidate) != 0) die("pthread_create");
  pthread_join(thread, NULL);
  if (depth == 2) return;
  child = fork();
  if (child < 0) die("fork");
  if (child == 0) {
    be_a_child(candidate, depth + 1);
    exit(0);
  }
  wait_for(child);
}

/* In the child this thread is the last: when it returns the process ends. */
static void* fork_in_a_thread(void* candidate) {
  pid_t child;
  run_candidate("a thread of the parent", candidate);
  child = fork();
  if (child < 0) die("fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    run_candidate("the child of a thread", candidate);
    /* OpenBLAS' own threads of the child keep it, as they keep any process whose last thread returns. */
    if (strstr(candidate, "openblas") != NULL) exit(0);
    return NULL;
  }
  wait_for(child);
  return NULL;
}

static void* compute_for_ever(void* candidate) {
  void* operands[3];
  operands[0] = x;
  operands[1] = w;
  operands[2] = numbers(M * N);
  while (attune_run_candidate(dispatcher, problem, candidate, operands, 3, NULL) == ATTUNE_OK) continue;
  if (strstr(attune_last_error(), "exiting") == NULL) die("a thread");
  return NULL;
}

/* Children of a process whose other threads are in the library all the time; and its end. */
static void fork_beside_threads(const char* candidate) {
  pthread_t thread;
  pid_t child;
  int i;
  run_candidate("the parent", candidate);
  for (i = 0; i < 2; ++i) {
    if (pthread_create(&thread, NULL, compute_for_ever, (void*)candidate) != 0) die("pthread_create");
    pthread_detach(thread);
  }
  for (i = 0; i < 10; ++i) {
    child = fork();
    if (child < 0) die("fork");
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      run_candidate("a child beside threads", candidate);
      exit(0);
    }
    wait_for(child);
  }
}

/* Of kernels that nobody has compiled yet. */
static void fork_beside_a_compiler(char** candidates) {
  pthread_t thread;
  int i;
  if (pthread_create(&thread, NULL, compute_for_ever, candidates[0]) != 0) die("pthread_create");
  pthread_detach(thread);
  for (i = 0; i < 5; ++i) {
    pid_t child;
    usleep(20000);
    child = fork();
    if (child < 0) die("fork");
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      run_candidate("a child that compiles", candidates[1]);
      exit(0);
    }
    wait_for(child);
  }
}

static void fork_after(const char* candidate) {
  pthread_t thread;
  pid_t child;
  const attune_gemm_key key = key_of(M);
  run_candidate("the parent", candidate);
  WORKS(attune_gemm(dispatcher, &key, x, w, NULL, y, NULL));
  check("the parent's table", M);
  run_packed("weights of the parent");
  child = fork();
  if (child < 0) die("fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    be_a_child(candidate, 1);
    exit(0);
  }
  wait_for(child);
  run_candidate("the parent afterwards", candidate);
  if (pthread_create(&thread, NULL, fork_in_a_thread, (void*)candidate) != 0) die("pthread_create");
  pthread_join(thread, NULL);
}

/* Shapes that no other thread has, so that there is always a plan to be made. */
static void* make_plans(void* which) {
  const int64_t first = (int64_t)(size_t)which;
  float* const out = numbers(M * N);
  attune_gemm_key key;
  int64_t i;
  for (i = 0;; ++i) {
    key = key_of(1 + (first + 4 * i) % M);
    key.k = 16 * (1 + (first + 4 * i) / M % (K / 16));
    /* Once the process ends, a thread may be told so. */
    if (attune_gemm(dispatcher, &key, x, w, NULL, out, NULL) != ATTUNE_OK) {
      if (strstr(attune_last_error(), "exiting") == NULL) die("a thread");
      return NULL;
    }
  }
}

static pthread_t makers[4];

static void end_while_plans_are_made(int after_ms) {
  size_t i;
  for (i = 0; i < 4; ++i) {
    if (pthread_create(&makers[i], NULL, make_plans, (void*)i) != 0) die("pthread_create");
  }
  usleep((useconds_t)after_ms * 1000);
  exit(0);
}

/* As the destructor of a static pool of threads does. */
static void join_makers(void) {
  size_t i;
  for (i = 0; i < 4; ++i) pthread_join(makers[i], NULL);
}

/* With all that the library writes: lines, captured shapes, kernels, the queue of missed shapes. What cannot be written
 * costs the application nothing. */
static void have_it_write(const char* candidate) {
  void* operands[3];
  attune_gemm_key key;
  int i, status;
  operands[0] = x;
  operands[1] = w;
  operands[2] = y;
  for (i = 1; i <= 4; ++i) {
    key = key_of(i);
    WORKS(attune_gemm(dispatcher, &key, x, w, NULL, y, NULL));
    check("a product", i);
  }
  status = attune_run_candidate(dispatcher, problem, candidate, operands, 3, NULL);
  if (status != ATTUNE_OK && status != ATTUNE_UNAVAILABLE) _exit(3);
  usleep(300000); /* The library's thread has its turn. */
}

/* Dispatchers of the application's own, beside the process's. */
static void open_dispatchers(int count) {
  const attune_gemm_key key = key_of(M);
  attune_dispatcher* own = NULL;
  int i;
  for (i = 1; i < count; ++i) {
    WORKS(attune_open(NULL, &own));
    WORKS(attune_close(own));
  }
  WORKS(attune_gemm(dispatcher, &key, x, w, NULL, y, NULL));
  check("a product", M);
}

/* Writes what the process has in its memory. */
static void show_maps(int computes) {
  const attune_gemm_key key = key_of(M);
  attune_hit hit = ATTUNE_HIT_INIT;
  char text[4096];
  size_t count;
  FILE* maps;
  WORKS(attune_reload(dispatcher, NULL));
  if (computes) {
    WORKS(attune_gemm(dispatcher, &key, x, w, NULL, y, NULL));
  } else {
    attune_dispatcher* own = NULL;
    attune_options options = ATTUNE_OPTIONS_INIT;
    options.lookup_only = 1;
    WORKS(attune_open(&options, &own));
    WORKS(attune_choose(own, &key, &hit));
    WORKS(attune_explain(own, &key, text, sizeof text, NULL));
    WORKS(attune_close(own));
  }
  maps = fopen("/proc/self/maps", "r");
  if (maps == NULL) die("maps");
  while ((count = fread(text, 1, sizeof text, maps)) > 0) fwrite(text, 1, count, stdout);
  fclose(maps);
}

/* The main thread ends; the process has no other thread of its own. */
static void end_the_main_thread(const char* candidate) {
  const attune_gemm_key key = key_of(M);
  WORKS(attune_gemm(dispatcher, &key, x, w, NULL, y, NULL));
  check("a product", M);
  run_candidate("a candidate", candidate);
  puts("the main thread ends");
  fflush(stdout);
  pthread_exit(NULL);
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  fill();
  if (strcmp(argv[1], "join") == 0 && atexit(join_makers) != 0) die("atexit");
  WORKS(attune_global(&dispatcher));
  if (strcmp(argv[1], "fork") == 0 && argc == 3)
    fork_after(argv[2]);
  else if (strcmp(argv[1], "beside") == 0 && argc == 3)
    fork_beside_threads(argv[2]);
  else if (strcmp(argv[1], "compile") == 0 && argc == 4)
    fork_beside_a_compiler(argv + 2);
  else if ((strcmp(argv[1], "exit") == 0 || strcmp(argv[1], "join") == 0) && argc == 3)
    end_while_plans_are_made(atoi(argv[2]));
  else if (strcmp(argv[1], "leave") == 0 && argc == 3)
    end_the_main_thread(argv[2]);
  else if (strcmp(argv[1], "write") == 0 && argc == 3)
    have_it_write(argv[2]);
  else if (strcmp(argv[1], "open") == 0 && argc == 3)
    open_dispatchers(atoi(argv[2]));
  else if (strcmp(argv[1], "maps") == 0 && argc == 3)
    show_maps(strcmp(argv[2], "compute") == 0);
  else if (strcmp(argv[1], "setuid") == 0 && getauxval(AT_SECURE) == 0)
    fprintf(stderr, "embedding: not secure\n");
  else if (strcmp(argv[1], "setuid") == 0)
    open_dispatchers(1);
  else
    return 2;
  return 0;
}
