// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "compile/compiler.h"
#include "core/outcome.h"
#include "core/turn.h"
#include "process/child.h"

namespace attune {

/// The result of one task: a binary, or the reason why there is none (compile_failed, timed_out, crashed,
/// out_of_memory, or unsupported when the compiler or toolchain is missing on this machine).
struct CompileResult {
  std::string recipe;
  Outcome outcome;  ///< ok: `binary` is set. Otherwise its detail holds the compiler's first lines.
  std::optional<Binary> binary;
  bool from_cache = false;
  double seconds = 0;  ///< That its compiler took in this pool; 0: it was found in the cache.
};

/// The compiler's process of one task, in a folder of its own, with limits and a deadline. Belongs to one thread.
class Compilation {
 public:
  using Clock = std::chrono::steady_clock;

  /// Writes the source into `folder`, which it creates, and starts the process. `deadline`: 0 takes the compiler's own.
  /// The compiler must outlive it. Throws like Compiler::toolchain(), Compiler::command() and Child.
  Compilation(CompileTask task, const Compiler& compiler, std::filesystem::path folder, Milliseconds deadline);

  const CompileTask& task() const noexcept { return task_; }
  const std::string& recipe() const noexcept { return recipe_; }
  const std::filesystem::path& folder() const noexcept { return folder_; }
  /// For poll(): readable once the process has ended.
  int descriptor() const noexcept { return child_.descriptor(); }
  /// When the deadline passes; never while stopped.
  Clock::time_point end() const noexcept;

  /// Returns how the process ended; at its deadline it is killed with all it started. nullopt: it still runs.
  std::optional<WaitStatus> poll();
  /// Returns the result of a process that ended; the binary's file lies in folder() and has no sha256 yet. Throws io
  /// when the log cannot be read.
  CompileResult result(const WaitStatus& status) const;

  void stop();    ///< Stops the process group (SIGSTOP), and the clock of the deadline.
  void resume();  ///< Undoes stop().

 private:
  Clock::duration elapsed() const noexcept;
  Binary binary_of(const std::string& content, const std::filesystem::path& file, const std::string& log) const;

  CompileTask task_;
  std::string recipe_;
  const Compiler& compiler_;
  std::string toolchain_;
  std::filesystem::path folder_;
  CompilerLimits limits_;
  CompileCommand command_;
  Child child_;
  Clock::time_point since_ = Clock::now();  ///< Start, or the last end of a stop.
  Clock::duration before_{};                ///< Time that ran before `since_`.
  bool is_stopped_ = false;
};

}  // namespace attune
