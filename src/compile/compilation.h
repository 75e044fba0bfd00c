// SPDX-License-Identifier: MIT
#pragma once
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>

#include "compile/compiler.h"
#include "core/outcome.h"
#include "core/turn.h"
#include "process/process_limits.h"

namespace attune {

/// The result of one task: a binary, or the reason for its absence. Reasons are compile_failed, timed_out, crashed,
/// out_of_memory, or unsupported when the compiler or toolchain is missing on this machine.
struct CompileResult {
  std::string recipe;
  Outcome outcome;  ///< ok: `binary` is set. Otherwise its detail holds the compiler's first lines.
  std::optional<Binary> binary;
  bool from_cache = false;
  /// Whether the compiler is missing and the cache lacks the binary, which another machine may add later.
  bool is_unbuilt = false;
  double seconds = 0;  ///< Compiler time, in this pool or one that shares; 0: the answer was in the cache.
  /// The failure is deterministic: this toolchain would reject the source again.
  bool is_rejected = false;
};

/// One running task, in a folder of its own, with limits and a deadline. A process of its own (CommandCompilation) or a
/// helper (HelperCompilation) does it. Belongs to one thread.
class Compilation {
 public:
  using Clock = std::chrono::steady_clock;

  virtual ~Compilation() = default;
  Compilation(const Compilation&) = delete;
  Compilation& operator=(const Compilation&) = delete;

  const CompileTask& task() const noexcept { return task_; }
  const std::string& recipe() const noexcept { return recipe_; }
  const std::filesystem::path& folder() const noexcept { return folder_; }
  /// Whether the calling thread began it: processes die with the thread that started them.
  bool is_of_this_thread() const noexcept { return thread_ == std::this_thread::get_id(); }
  /// Arch, recipe, toolchain and metadata of the task's binary, without the compiler's report.
  Binary description() const;
  /// Time at which the deadline passes; never while stopped.
  Clock::time_point end() const noexcept;

  /// Whether the task has ended. At the deadline its process group is killed. Never waits.
  virtual bool has_ended() = 0;
  /// The result of a task that has ended; the binary's file lies in folder() and has no sha256 yet. Throws io when a
  /// file cannot be read or written.
  virtual CompileResult result() = 0;

  void stop();    ///< Stops the process group (SIGSTOP), and the clock of the deadline.
  void resume();  ///< Undoes stop().

 protected:
  /// Creates `folder`. `deadline`: 0 takes the compiler's own. The compiler must outlive it. Throws like
  /// Compiler::toolchain().
  Compilation(CompileTask task, const Compiler& compiler, std::filesystem::path folder, Milliseconds deadline);

  const CompilerLimits& limits() const noexcept { return limits_; }
  const std::string& toolchain() const noexcept { return toolchain_; }
  bool is_late() const noexcept { return !is_stopped_ && elapsed() >= limits_.deadline; }
  /// Returns the result with this outcome, and no binary.
  CompileResult ended_with(Outcome outcome) const;
  /// Examines the binary and returns the result.
  CompileResult examined(const std::filesystem::path& file, const std::string& content, const std::string& log) const;

 private:
  virtual void stop_process() = 0;
  virtual void resume_process() = 0;
  Clock::duration elapsed() const noexcept;
  Binary binary_of(const std::string& content, const std::filesystem::path& file, const std::string& log) const;

  CompileTask task_;
  std::string recipe_;
  const Compiler& compiler_;
  std::string toolchain_;
  std::filesystem::path folder_;
  CompilerLimits limits_;
  Clock::time_point since_ = Clock::now();  ///< Start, or the last end of a stop.
  Clock::duration before_{};                ///< Running time before `since_`.
  bool is_stopped_ = false;
  std::thread::id thread_ = std::this_thread::get_id();
};

/// Maximum size of a compiler's output.
inline constexpr uint64_t kMaxBinaryBytes = uint64_t{256} << 20;
/// Limits of a process that compiles. Its processor time is not limited.
ProcessLimits process_limits(const CompilerLimits& limits);

}  // namespace attune
