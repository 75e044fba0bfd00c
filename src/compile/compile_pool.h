// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compile/compilation.h"
#include "compile/compile_helper.h"
#include "compile/compiler.h"
#include "compile/kernel_cache.h"
#include "compile/shared_compilations.h"
#include "core/turn.h"

namespace attune {

struct PoolOptions {
  uint32_t jobs = 0;           ///< Maximum number of processes at once; 0: the number of cores this process may use.
                               ///< Never more than the pools that share have together.
  Milliseconds deadline{0};    ///< Deadline of one compilation in place of its compiler's own; 0: the compiler's. Its
                               ///< clock stops while the pool is paused.
  std::filesystem::path keep;  ///< Folder that keeps sources, binaries and logs, by recipe; empty: they are removed.
  std::vector<const Compiler*> compilers;  ///< That tasks may name; empty: those of this build.
  HelperProgram helper;                    ///< For compilers that are libraries.
  /// With the other pools of this process that compile into the same cache; null: the pool shares nothing.
  std::shared_ptr<SharedCompilations> shared;
};

/// Compiles tasks in child processes, each in its own process group with the limits of its compiler and a deadline, and
/// adds the binaries to the cache. A command has a process for each task; the processes of a library do one after
/// another, and those that wait use no processor time. Processes are started by submit(), prefetch(), wait() and
/// resume(), as soon as fewer than `jobs` run. Has no threads, and one thread calls it: the processes die with that
/// thread, and their tasks begin again where another one goes on with the pool. If the program is killed, the children
/// of a compiler driver (`cc1`) run on to the end of their source, at most up to a limit on their processor time.
///
/// Pools that share (PoolOptions::shared) may be called by different threads at once. Of a recipe that several are
/// asked for one has a compiler, and the others take what came of it: the binary from the cache, or the failure. If
/// that one is destroyed, paused, or no longer called while they wait, another one compiles the recipe. What is shared
/// further are the places of processes: a pool that has to stop one for lack of a place lets it go on when it has one
/// again.
///
/// Functions that start processes throw io when the temporary folder or the cache cannot be written, device when no
/// more processes can be started; the task in question is then not answered.
class CompilePool {
 public:
  explicit CompilePool(KernelCache& cache, PoolOptions options = {});
  /// Kills running processes and removes their folders.
  ~CompilePool();
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;

  /// Looks for the task's binary in the cache, and compiles it otherwise. A recipe that is already known (cached, in
  /// progress, failed in this pool or one that shares) is not compiled again, but each call gets an answer. If the
  /// task's compiler is missing, a cached binary of any toolchain is the answer. Takes 0.1 ms to look, and 0.3 ms to
  /// start a process.
  void submit(const CompileTask& task);
  /// Compiles a task that may be submitted later: with a process that no submitted task waits for, and without an
  /// answer. Does nothing for a recipe that is known.
  void prefetch(const CompileTask& task);
  /// Returns the answer that takes no compiler (a cached binary, a failure of this pool, a missing compiler); nothing
  /// if submit() would compile. Takes 0.1 ms.
  std::optional<CompileResult> known(const CompileTask& task);
  /// Whether submit() answers at once: the recipe was compiled, found in the cache or failed in this pool. Its binary
  /// may have left the cache since, if that holds no lease.
  bool ready(const std::string& recipe) const;
  /// Number of answers that wait() has still to give.
  size_t unanswered() const noexcept;
  /// Blocks for at most `timeout`; returns the available answers in order of arrival, possibly none. Does not block
  /// while paused, or when no task is unanswered.
  std::vector<CompileResult> wait(Milliseconds timeout);
  /// Submits all tasks and waits for them; answers are in the tasks' order. Not while paused.
  std::vector<CompileResult> compile(const std::vector<CompileTask>& tasks);

  /// For a poll() of the caller's that waits for other things as well: readable while wait(0) has something to do, be
  /// it an answer, a process that ended or a deadline. The same number for the pool's life, to which it belongs.
  int descriptor() const noexcept;
  /// Maximum number of processes at once.
  uint32_t num_jobs() const noexcept;

  /// Stops the processes (SIGSTOP to their groups) and their deadlines, and starts none; called before a host device is
  /// measured.
  void pause();
  void resume();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attune
