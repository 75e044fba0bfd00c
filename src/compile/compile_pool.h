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
  uint32_t jobs = 0;                          ///< Processes at once; 0: the cores this process may use.
  Milliseconds deadline{60'000};              ///< Of one compilation; its clock stops while the pool is paused.
  uint64_t memory_bytes = uint64_t{4} << 30;  ///< Address space of one compilation.
  std::filesystem::path keep;                 ///< Sources, binaries and logs are left here, by recipe; empty: removed.
};

/// What became of one task: a binary, or why there is none (compile_failed, timed_out, crashed, out_of_memory,
/// unsupported when no such compiler or toolchain is here).
struct CompileResult {
  std::string recipe;
  Outcome outcome;  ///< ok: with the binary below. Its detail holds the compiler's first lines otherwise.
  std::optional<Binary> binary;
  bool from_cache = false;
  double seconds = 0;
};

/// Compiles tasks in child processes, each in its own process group with limits and a deadline, and puts the binaries
/// into the cache. submit() only enqueues; wait() does the work. No threads of its own, and one thread calls it: the
/// processes die with that thread. When the program is killed, what a driver had started (`cc1`) goes on to the end of
/// its source, and no further than a limit on its processor time.
class CompilePool {
 public:
  explicit CompilePool(KernelCache& cache, PoolOptions options = {});
  /// Kills what runs and removes its folders.
  ~CompilePool();
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;

  /// A task of a recipe that is known already (cached, under way, failed in this pool) is not compiled again; it is
  /// answered all the same, once for each call. Without the task's compiler here, a cached binary of any toolchain is
  /// its answer.
  void submit(const CompileTask& task);
  size_t unanswered() const noexcept;
  /// Blocks up to `at_most` for answers; returns those there are, in the order they came, possibly none. While paused,
  /// and when nothing is unanswered, it does not block. Throws io when the temporary folder or the cache cannot be
  /// written, device when there can be no more processes; the task it was at is not answered then.
  std::vector<CompileResult> wait(Milliseconds at_most);
  /// Submits all and waits for all; answers in the tasks' order. Not while paused. Throws as wait().
  std::vector<CompileResult> compile(const std::vector<CompileTask>& tasks);

  /// Stops the processes (SIGSTOP to their groups) and their deadlines: before a host device is measured.
  void pause();
  void resume();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace attune
