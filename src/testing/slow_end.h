// SPDX-License-Identifier: MIT
#pragma once
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "testing/becomes_true.h"

namespace attune {

/// A process whose end takes long once it is killed, as that of one with a context on a GPU does: a child of its own,
/// which is in no group of it, traces it and holds it at its exit. Where processes may trace each other.
class SlowEnd {
 public:
  /// Variable with the path of a file; the process ends at once where it is not set.
  static constexpr const char* kVariable = "ATTUNE_SLOW_END";

  /// To be called in the process, before it has threads: from now on its end takes as many milliseconds as the file
  /// says, or until the file is gone.
  static void arrange() {
    const char* const path = std::getenv(kVariable);
    if (path == nullptr) return;
    const pid_t slow = ::getpid(), tracer = ::fork();
    if (tracer == 0) {
      ::setsid();
      ::close_range(3, ~0U, 0);  // Its channel closes when the process ends.
      hold(slow, path);
    }
    ::prctl(PR_SET_PTRACER, tracer, 0, 0, 0);
    std::ofstream(held(path, slow)) << "1";  // It may be traced from now on.
    while (std::filesystem::exists(held(path, slow))) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

 private:
  static std::string held(const std::string& path, pid_t slow) { return path + '.' + std::to_string(slow); }
  [[noreturn]] static void hold(pid_t slow, const std::string& path) {
    becomes_true([&] { return std::filesystem::exists(held(path, slow)); });
    const bool traces = ::ptrace(PTRACE_SEIZE, slow, nullptr, PTRACE_O_TRACEEXIT) == 0;
    std::filesystem::remove(held(path, slow));
    if (!traces) ::_exit(1);
    constexpr int kAtExit = SIGTRAP | (PTRACE_EVENT_EXIT << 8);
    for (int status = 0; ::waitpid(slow, &status, __WALL) == slow && WIFSTOPPED(status);) {
      if (status >> 8 == kAtExit) {
        wait(path);
        ::ptrace(PTRACE_DETACH, slow, nullptr, nullptr);
        break;
      }
      ::ptrace(PTRACE_CONT, slow, nullptr, WSTOPSIG(status));  // A signal is handed on.
    }
    ::_exit(0);
  }
  static void wait(const std::string& path) {
    int64_t ms = 0;
    std::ifstream(path) >> ms;
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
    while (std::filesystem::exists(path) && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

}  // namespace attune
