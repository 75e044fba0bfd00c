// SPDX-License-Identifier: MIT
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "process/process_limits.h"
#include "process/wait_status.h"

namespace attune {

/// A command to be run, never by a shell. Its standard input is empty.
struct ChildCommand {
  std::vector<std::string> arguments;              ///< arguments[0] is an absolute path.
  std::map<std::string, std::string> environment;  ///< All of it; ours is not inherited.
  std::filesystem::path folder;                    ///< Where it runs; empty: where this process does.
  std::filesystem::path output;                    ///< Gets both its streams, created or emptied; empty: /dev/null.
  /// Descriptors of ours, in any order, that it has as 3, 4, 5 …; not closed on its exec. Ours stay open.
  std::vector<int> inherited;
  int cgroup = -1;  ///< Open `cgroup.procs` of the cgroup (v2) it starts in: MemoryCage::descriptor(). −1: in ours.
  ProcessLimits limits;
};

/// A running process in a group of its own, with default signal handling and no descriptors but 0, 1, 2 and those
/// named. It is killed when the *thread* that spawned it ends; what it spawned itself is not, unless by kill(). Several
/// threads may spawn at once; one object belongs to one thread. About 0.2 ms, during which the calling thread waits for
/// the exec.
class Child {
 public:
  /// Throws unavailable when the program cannot be run, io for the folder or the output, device when there are too many
  /// processes or open files, or when the cgroup does not take it. The message names what it was.
  explicit Child(const ChildCommand& command);
  /// Kills the group and reaps.
  ~Child();
  Child(Child&& other) noexcept;
  Child& operator=(Child&&) = delete;

  pid_t pid() const noexcept { return pid_; }  ///< Also the number of its group; 0 when moved from.
  /// For poll(): readable once the process has ended, stays open as long as the object.
  int descriptor() const noexcept { return descriptor_; }

  /// How it ended, if it has. When it has, its group is killed and it is reaped; later calls repeat the answer.
  std::optional<WaitStatus> poll();
  /// Waits for the end, at most up to the deadline: then the group is killed and the status says deadline.
  WaitStatus wait(Milliseconds deadline);
  /// Kills the group, stopped or not, and reaps. A process that had ended before keeps its status.
  WaitStatus kill() noexcept;
  /// Kills as well; the status says that the deadline passed, unless the process had ended before.
  WaitStatus expire(Milliseconds deadline) noexcept;
  /// Kills as well; the status says that it broke the protocol, unless a signal had ended the process before.
  WaitStatus reject() noexcept;
  void stop() noexcept;    ///< SIGSTOP to the group.
  void resume() noexcept;  ///< SIGCONT to the group.

 private:
  WaitStatus reap() noexcept;
  void signal_group(int number) noexcept;

  pid_t pid_ = 0;
  int descriptor_ = -1;
  std::optional<WaitStatus> status_;
};

}  // namespace attune
