// SPDX-License-Identifier: MIT
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "compile/compilation.h"
#include "process/channel/channel.h"
#include "process/child.h"
#include "process/poll_set.h"
#include "process/temporary_folder.h"

namespace attune {

/// How to start helpers: processes that call a compiler's library.
struct HelperProgram {
  /// `attune compile-worker`, with an absolute path; the compiler's name is appended. Empty: this process has no
  /// helpers, and compilers that are libraries are unsupported.
  std::vector<std::string> arguments;
  std::map<std::string, std::string> environment;  ///< The whole environment of a helper; TMPDIR is added.
  uint32_t max_tasks = 500;                        ///< Number of tasks after which a helper is replaced.
};

/// One life of a helper: its process, channel and private folder. One task at a time. Belongs to one thread.
class CompileHelper {
 public:
  /// The poll set must outlive it. Throws like Child, and device when the process has too many open files.
  CompileHelper(const LibraryCompiler& compiler, const HelperProgram& program, const CompilerLimits& limits,
                PollSet& poll_set);

  const LibraryCompiler& compiler() const noexcept { return compiler_; }
  /// Starts a task. From now on the poll set is readable when take() has work. False: the helper has ended, or was
  /// killed because it sent unsolicited data since its last task; take() then returns its end. Throws internal when the
  /// task is too long.
  bool begin(const CompileTask& task);
  /// How a task ended: with an answer, or with the end of the helper.
  using Event = std::variant<LibraryOutput, WaitStatus>;
  /// Returns the end of the task, once; nullopt while it runs. A helper is killed if it answers another task, sends an
  /// invalid answer or closes its channel. Waits at most 20 ms, and only for the end of a helper that closed its
  /// channel.
  std::optional<Event> take();
  WaitStatus expire(Milliseconds deadline) { return child_.expire(deadline); }
  /// Whether it has done `max_tasks` tasks, or half of its memory limit is resident.
  bool is_spent() const;
  /// Last text that the library wrote to standard output and error; empty: nothing.
  std::string last_output() const;
  void stop() noexcept { child_.stop(); }
  void resume() noexcept { child_.resume(); }

 private:
  CompileHelper(const LibraryCompiler& compiler, const HelperProgram& program, const CompilerLimits& limits,
                PollSet& poll_set, ChannelPair channel);
  std::optional<Event> look();
  void watch();
  void forget() noexcept;

  const LibraryCompiler& compiler_;
  PollSet& poll_set_;
  const uint32_t max_tasks_;
  const uint64_t memory_bytes_;
  TemporaryFolder folder_{"compile-helper"};
  ChannelEnd channel_;
  Child child_;
  uint64_t number_ = 0;
};

/// The idle helpers of a pool. Belongs to one thread.
class CompileHelpers {
 public:
  /// The poll set must outlive it.
  CompileHelpers(HelperProgram program, PollSet& poll_set) : program_(std::move(program)), poll_set_(poll_set) {}

  /// Makes an idle helper begin a task, or starts a fresh one for it. Throws unavailable without a program, and like
  /// CompileHelper.
  std::unique_ptr<CompileHelper> begin(const LibraryCompiler& compiler, const CompileTask& task,
                                       const CompilerLimits& limits);
  /// Keeps a helper that answered, for another task; ends one that is spent.
  void give_back(std::unique_ptr<CompileHelper> helper);

 private:
  HelperProgram program_;
  PollSet& poll_set_;
  std::vector<std::unique_ptr<CompileHelper>> idle_;
};

/// One task of a helper. A helper that dies, hangs or sends an invalid answer fails only this task: compile_failed.
class HelperCompilation final : public Compilation {
 public:
  /// Throws like Compilation and CompileHelpers::begin(). `helpers` must outlive it.
  HelperCompilation(CompileTask task, const LibraryCompiler& compiler, std::filesystem::path folder,
                    Milliseconds deadline, CompileHelpers& helpers);
  ~HelperCompilation() override;

  bool has_ended() override;
  CompileResult result() override;

 private:
  void stop_process() override { helper_->stop(); }
  void resume_process() override { helper_->resume(); }

  CompileHelpers& helpers_;
  std::unique_ptr<CompileHelper> helper_;
  std::optional<CompileHelper::Event> event_;
};

}  // namespace attune
