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
#include "core/binary.h"
#include "core/turn.h"

namespace attune {

struct PoolOptions {
  /// Maximum number of processes at once; 0: the number of cores this process may use. Never above the common maximum
  /// of pools that share.
  uint32_t jobs = 0;
  /// Deadline of one compilation; 0: the compiler's own. Its clock stops while the pool is paused.
  Milliseconds deadline{0};
  /// Folder that keeps sources, binaries and logs, by recipe, of a cached kernel without a log. Empty: none.
  std::filesystem::path keep;
  /// Toolchains by compiler: where a compiler is missing, only a cached binary of its toolchain is an answer. Of a
  /// missing compiler that is not named, or whose toolchain is empty, a binary of any toolchain is.
  Toolchains stored_toolchains;
  std::vector<const Compiler*> compilers;  ///< Compilers that tasks may name; empty: all of this build.
  HelperProgram helper;                    ///< For compilers that are libraries.
  /// Shared with the other pools of this process that compile into the same cache; null: not shared.
  std::shared_ptr<SharedCompilations> shared;
};

/// Compiles tasks in child processes, each in its own process group with the limits of its compiler and a deadline, and
/// adds the binaries to the cache, and the sources that their compiler rejected. A command has a process for each task.
/// The processes of a library do one task after another; idle ones use no processor time. submit(), prefetch(), wait()
/// and resume() start processes as soon as fewer than `jobs` run. Has no threads, and one thread calls it. The
/// processes die with that thread; if another thread goes on with the pool, their tasks begin again. If the program is
/// killed, the children of a compiler driver (`cc1`) run on to the end of their source, limited in their processor
/// time.
///
/// Pools that share (PoolOptions::shared) may be called by different threads at once. If several pools are asked for a
/// recipe, one compiles it and the others take the result: the binary from the cache, or the failure. If that pool is
/// destroyed, paused, or no longer called while they wait, another one compiles the recipe. The pools also share the
/// places of processes. A pool that loses a place stops a process, and resumes it when it has a place again.
///
/// Functions that start processes throw io when the temporary folder or the cache cannot be written, and device when no
/// more processes can be started; the affected task is then not answered.
class CompilePool {
 public:
  explicit CompilePool(KernelCache& cache, PoolOptions options = {});
  /// Kills running processes and removes their folders.
  ~CompilePool();
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;

  /// Looks for the task's binary in the cache, and compiles it otherwise. A recipe that is already known (cached, in
  /// progress, failed in this pool or one that shares) is not compiled again, but each call gets an answer. If the
  /// task's compiler is missing, a cached binary is the answer (PoolOptions::stored_toolchains), else
  /// CompileResult::is_unbuilt. Takes 0.1 ms for the lookup, and 0.3
  /// ms to start a process.
  void submit(const CompileTask& task);
  /// Compiles a task that may be submitted later. Submitted tasks have priority over it, and it gets no answer. Does
  /// nothing for a known recipe.
  void prefetch(const CompileTask& task);
  /// Returns the answer that needs no compiler (a cached binary or rejection, a failure of this pool, a missing
  /// compiler); nothing if submit() would compile. Takes 0.1 ms.
  std::optional<CompileResult> known(const CompileTask& task);
  /// Whether submit() answers at once: the recipe was compiled, found in the cache or failed in this pool. Its binary
  /// may have been evicted since, if the cache holds no lease.
  bool ready(const std::string& recipe) const;
  /// Number of answers that wait() still has to return.
  size_t unanswered() const noexcept;
  /// Blocks for at most `timeout`; returns the available answers in order of arrival, possibly none. Does not block
  /// while paused, or when no task is unanswered.
  std::vector<CompileResult> wait(Milliseconds timeout);
  /// Submits all tasks and waits for them; answers are in the tasks' order. Not while paused.
  std::vector<CompileResult> compile(const std::vector<CompileTask>& tasks);

  /// File descriptor for the caller's own poll(): readable while wait(0) has work, such as an answer, an ended process
  /// or a deadline. It belongs to the pool and stays the same for the pool's life.
  int descriptor() const noexcept;
  /// Maximum number of processes at once.
  uint32_t num_jobs() const noexcept;

  /// Stops the processes (SIGSTOP to their groups) and their deadlines, and starts none. Call it before a host device
  /// is measured.
  void pause();
  void resume();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attune
