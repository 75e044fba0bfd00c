// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <csignal>
#include <optional>

#include "process/child_command.h"
#include "process/wait_status.h"

namespace attune {

/// A running process, with default signal handling and only descriptors 0, 1, 2 and those named. It leads a group of
/// its own; if it joins this process's (ChildCommand::joins_group), "the group" means the process alone below. It is
/// killed when the *thread* that spawned it ends; its own children are killed by kill() only. Several threads may spawn
/// at once; one object belongs to one thread. Spawning takes about 0.2 ms, while the calling thread waits for the exec.
class Child {
 public:
  /// Throws unavailable when the program cannot be run, io for the folder or the output, device when there are too many
  /// processes or open files, or when the cgroup does not accept the process. The message names the cause.
  explicit Child(const ChildCommand& command);
  /// Kills the group and reaps.
  ~Child();
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;

  pid_t pid() const noexcept { return pid_; }  ///< Also the number of the group that it leads; 0 when moved from.
  /// For poll(): readable once the process has ended; open for the life of the object.
  int descriptor() const noexcept { return descriptor_; }

  /// Returns how the process ended, if it has, after killing its group and reaping it. Later calls repeat the answer.
  std::optional<WaitStatus> poll();
  /// Waits for the end. At the deadline the group is killed and the status is `deadline`.
  WaitStatus wait(Milliseconds deadline);
  /// Kills the group, stopped or not, and reaps. A process that had already ended keeps its status.
  WaitStatus kill() noexcept;
  /// Kills the group, stopped or not, and does not wait: poll() tells when it has ended.
  void end() noexcept { signal_group(SIGKILL); }
  /// Like kill(), but the status is `deadline`, unless the process had already ended.
  WaitStatus expire(Milliseconds deadline) noexcept;
  /// Like kill(), but the status is `protocol`, unless a signal had already ended the process.
  WaitStatus reject() noexcept;
  void stop() noexcept;    ///< SIGSTOP to the group.
  void resume() noexcept;  ///< SIGCONT to the group.

 private:
  WaitStatus reap() noexcept;
  void signal_group(int number) noexcept;

  pid_t pid_ = 0;
  int descriptor_ = -1;
  bool leads_group_;
  std::optional<WaitStatus> status_;
};

}  // namespace attune
