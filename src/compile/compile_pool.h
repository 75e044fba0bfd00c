// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compile/compiler.h"
#include "compile/kernel_cache.h"
#include "core/outcome.h"
#include "core/turn.h"

namespace attune {

struct PoolOptions {
  uint32_t jobs = 0;                          ///< Maximum number of processes at once; 0: the number of cores this
                                              ///< process may use.
  Milliseconds deadline{60'000};              ///< Deadline of one compilation; its clock stops while the pool is
                                              ///< paused.
  uint64_t memory_bytes = uint64_t{4} << 30;  ///< Limit on the address space of one compilation.
  std::filesystem::path keep;                 ///< Folder that keeps sources, binaries and logs, by recipe; empty: they
                                              ///< are removed.
};

/// The result of one task: a binary, or the reason why there is none (compile_failed, timed_out, crashed,
/// out_of_memory, or unsupported when the compiler or toolchain is missing on this machine).
struct CompileResult {
  std::string recipe;
  Outcome outcome;  ///< ok: `binary` is set. Otherwise its detail holds the compiler's first lines.
  std::optional<Binary> binary;
  bool from_cache = false;
  double seconds = 0;
};

/// Compiles tasks in child processes, each in its own process group with limits and a deadline, and adds the binaries
/// to the cache. submit() only enqueues; wait() does the work. Has no threads, and one thread calls it: the processes
/// die with that thread. If the program is killed, the children of a compiler driver (`cc1`) run on to the end of their
/// source, at most up to a limit on their processor time.
class CompilePool {
 public:
  explicit CompilePool(KernelCache& cache, PoolOptions options = {});
  /// Kills running processes and removes their folders.
  ~CompilePool();
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;

  /// Enqueues a task. A recipe that is already known (cached, in progress, failed in this pool) is not compiled again,
  /// but each call still gets an answer. If the task's compiler is missing, a cached binary of any toolchain is the
  /// answer.
  void submit(const CompileTask& task);
  size_t unanswered() const noexcept;
  /// Blocks for at most `timeout`; returns the available answers in order of arrival, possibly none. Does not block
  /// while paused, or when no task is unanswered. Throws io when the temporary folder or the cache cannot be written,
  /// device when no more processes can be started; the current task is then not answered.
  std::vector<CompileResult> wait(Milliseconds timeout);
  /// Submits all tasks and waits for them; answers are in the tasks' order. Not while paused. Throws like wait().
  std::vector<CompileResult> compile(const std::vector<CompileTask>& tasks);

  /// Stops the processes (SIGSTOP to their groups) and their deadlines; called before a host device is measured.
  void pause();
  void resume();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attune
