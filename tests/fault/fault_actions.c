// SPDX-License-Identifier: MIT
// The text that a faulty compiler appends to that of a kernel (faulty_cc.py): the kernel's own entry was renamed to
// `original`, the one that is exported here does a deed first. Wanted: ENTRY, ARGUMENTS (its struct), IS_LAST (whether
// the call writes to the output), DEED, one of AT_CALL, AFTER_CALL, AT_LOAD and AT_UNLOAD; FROM, the first call that
// counts; ONCE, a file that is made when it happens, so that it never happens again.
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef FROM
#define FROM 1
#endif

typedef const struct ARGUMENTS* args_t;
enum { grandchild_s = 1000, first_foreign = 3, max_descriptors = 64 };

static void segfault(args_t t) { *(volatile char*)mmap(0, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) = 1; }
static void do_abort(args_t t) { abort(); }
static void exit0(args_t t) { exit(0); }
static void trap(args_t t) { __builtin_trap(); }
static void divide(args_t t) {
  volatile int some = 7, zero = 0;
  some = some / zero;
}
static void loop(args_t t) {
  for (volatile unsigned turns = 0;;) turns = turns + 1;
}
static void do_sleep(args_t t) {
  for (;;) sleep(grandchild_s);
}
static void slow(args_t t) { sleep(1); }
static void stop(args_t t) { kill(getpid(), SIGSTOP); }
static void do_exec(args_t t) { execl("/bin/sleep", "sleep", "1000", (char*)0); }
static void do_chdir(args_t t) { (void)!chdir("/"); }

static void signal_mask(args_t t) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, 0);
}

// As a kernel would that does not look at what it is given.
static void bomb(args_t t) {
  for (;;) {
    char* piece = malloc(64 << 20);
    for (long at = 0; at < 64 << 20; at += 4096) ((volatile char*)piece)[at] = 1;
  }
}

static unsigned recurse(volatile unsigned* depth) {
  volatile char frame[4096];
  *depth = *depth + 1;
  frame[*depth % sizeof frame] = 1;
  return *depth == 0 ? 0 : recurse(depth) + frame[*depth % sizeof frame];
}
static void stack(args_t t) {
  volatile unsigned depth = 0;
  recurse(&depth);
}

static int open_descriptors(int* found) {
  int count = 0;
  DIR* folder = opendir("/proc/self/fd");
  for (struct dirent* entry; folder && (entry = readdir(folder)) && count < max_descriptors;) {
    const int one = atoi(entry->d_name);
    if (one >= first_foreign && one != dirfd(folder)) found[count++] = one;
  }
  if (folder) closedir(folder);
  return count;
}
// Some are not for writing, and a pipe may be full: no matter.
static void garbage(args_t t) {
  unsigned bytes[128];
  int found[max_descriptors];
  const int count = open_descriptors(found);
  for (int i = 0; i < 128; ++i) bytes[i] = (unsigned)i * 2654435761u + (unsigned)getpid();
  for (int i = 0; i < count; ++i) (void)!write(found[i], bytes, sizeof bytes);
}
static void close_all(args_t t) {
  int found[max_descriptors];
  const int count = open_descriptors(found);
  for (int i = 0; i < count; ++i) close(found[i]);
}

// The descriptors stay open in the grandchild: who waits for the end of a pipe waits for it too.
static void leave_a_grandchild(void) {
  const pid_t child = fork();
  if (child < 0) return;
  if (child == 0) {
    setsid();
    if (fork() == 0) sleep(grandchild_s);
    _exit(0);
  }
  while (waitpid(child, 0, 0) < 0) {
  }
}
static void double_fork(args_t t) {
  static volatile int done = 0;
  if (!done++) leave_a_grandchild();
}
// Hundreds in a launch.
static void many_forks(args_t t) { leave_a_grandchild(); }

static void file_limit(args_t t) {
  const char* folder = getenv("TMPDIR");
  char name[4096] = ".";
  struct rlimit limit;
  getrlimit(RLIMIT_FSIZE, &limit);
  if (folder) strncpy(name, folder, sizeof name - 32);
  strcat(name, "/attune-fault-XXXXXX");
  const int file = mkstemp(name);
  if (file < 0) abort();
  // Whoever is killed here leaves the file: that is for the run to clear away.
  if (pwrite(file, "x", 1, (off_t)limit.rlim_cur) < 0) abort();
}

static void scribble_inputs(args_t t) { *(volatile float*)INPUT(t) = 1e9f; }

// Behind the last element of the last tile lies what is not the output's; behind that of another the next tile's.
static void scribble_after(args_t t) {
  if (!IS_LAST(t)) return;
  out_t* end = (out_t*)t->out.c + (t->out.row_end - 1) * t->out.row_step + (t->out.column_end - 1) * t->out.column_step;
  for (int i = 1; i <= 32; ++i) ((volatile out_t*)end)[i] = (out_t)12345;
}
static void wrong_result(args_t t) {
  if (!IS_LAST(t)) return;
  ((out_t*)t->out.c)[t->out.row_begin * t->out.row_step + t->out.column_begin * t->out.column_step] += (out_t)1e6;
}
static void nan_result(args_t t) {
  if (!IS_LAST(t)) return;
  ((out_t*)t->out.c)[t->out.row_begin * t->out.row_step + t->out.column_begin * t->out.column_step] =
      (out_t)__builtin_nanf("");
}

// Unresolved when the library is opened.
void no_such_function_of_any_library(void);
static void undefined(args_t t) { no_such_function_of_any_library(); }

static int is_due(void) {
  static volatile long calls = 0;
  calls = calls + 1;
  if (calls < FROM) return 0;
#ifdef ONCE
  const int file = open(ONCE, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0) return 0;
  close(file);
#endif
  return 1;
}

#if defined(AT_LOAD)
__attribute__((constructor)) static void at_load(void) {
  if (is_due()) DEED(0);
}
#elif defined(AT_UNLOAD)
__attribute__((destructor)) static void at_unload(void) {
  if (is_due()) DEED(0);
}
#endif

void ENTRY(args_t t) {
#if defined(AT_CALL)
  if (is_due()) DEED(t);
#endif
  original(t);
#if defined(AFTER_CALL)
  if (is_due()) DEED(t);
#endif
}
