// SPDX-License-Identifier: MIT
#pragma once
#include <optional>

#include "compile/compilation.h"
#include "process/child.h"
#include "process/poll_set.h"

namespace attune {

/// The compiler process of one task.
class CommandCompilation final : public Compilation {
 public:
  /// Writes the source into `folder`, which it creates, and starts the process. The poll set is readable once the
  /// process has ended. Throws like Compilation, Compiler::command() and Child.
  CommandCompilation(CompileTask task, const Compiler& compiler, std::filesystem::path folder, Milliseconds deadline,
                     PollSet& poll_set);

  bool has_ended() override;
  CompileResult result() override;

 private:
  void stop_process() override { child_.stop(); }
  void resume_process() override { child_.resume(); }

  CompileCommand command_;
  Child child_;
  std::optional<WaitStatus> status_;
};

}  // namespace attune
