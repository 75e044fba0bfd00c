// SPDX-License-Identifier: MIT
#include "solvers/fake/fault_actions.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/variable.h"

namespace attune {
namespace {

constexpr unsigned kGrandchildS = 1000;
constexpr int kFirstForeign = 3;  // Descriptors below are the standard streams.

void touch_a_forbidden_page() {
  // A mapped but protected page: a sanitizer would catch a null pointer before the processor does.
  void* page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *static_cast<volatile char*>(page) = 1;
}

[[noreturn]] void compute_for_ever() {
  for (volatile unsigned turns = 0;;) turns = turns + 1;
}

[[noreturn]] void sleep_for_ever() {
  for (;;) ::sleep(kGrandchildS);
}

/// Maximum size of a bomb: the limit on address space, or without one half of the machine's memory, so that no other
/// process is harmed.
uint64_t max_bomb_bytes() {
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  if (limit.rlim_cur != RLIM_INFINITY) return limit.rlim_cur;
  return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) / 2;
}

void use_all_memory() {
  constexpr size_t kPiece = size_t{64} << 20, kPage = 4096;
  const uint64_t max_bytes = max_bomb_bytes();
  std::vector<std::unique_ptr<char[]>> pieces;
  for (uint64_t bytes = 0; bytes < max_bytes; bytes += kPiece) {
    pieces.push_back(std::make_unique_for_overwrite<char[]>(kPiece));
    volatile char* piece = pieces.back().get();
    for (size_t at = 0; at < kPiece; at += kPage) piece[at] = 1;
  }
}

std::vector<int> open_descriptors() {
  std::vector<int> open;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    open.push_back(std::atoi(entry.path().filename().c_str()));
  std::erase_if(open, [](int one) { return one < kFirstForeign || ::fcntl(one, F_GETFD) < 0; });
  return open;
}

void write_garbage() {
  std::random_device source;
  std::array<unsigned, 128> bytes{};
  for (unsigned& word : bytes) word = source();
  for (const int one : open_descriptors()) {
    // Some descriptors are read-only, and a pipe may be full; failures are ignored.
    [[maybe_unused]] const auto written = ::write(one, bytes.data(), sizeof bytes);
  }
}

void close_all() {
  for (const int one : open_descriptors()) ::close(one);
}

/// The descriptors stay open in the grandchild: a reader that waits for the end of a pipe also waits for it.
void leave_a_grandchild() {
  const pid_t child = ::fork();
  if (child < 0) return;
  if (child == 0) {
    ::setsid();
    if (::fork() == 0) ::sleep(kGrandchildS);
    ::_exit(0);
  }
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void write_beyond_the_limit() {
  constexpr rlim_t kNoLimit = rlim_t{1} << 40;  // A sparse file with one block.
  const char* folder = variable_value("TMPDIR");
  std::string name = std::string(folder != nullptr ? folder : ".") + "/attune-fault-XXXXXX";
  const int file = ::mkstemp(name.data());
  if (file < 0) fail(ErrorCode::io, "cannot make a file to write to: {}: {}", name, std::strerror(errno));
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const auto written = ::pwrite(file, "x", 1, static_cast<off_t>(std::min(limit.rlim_cur, kNoLimit)));
  const int error = errno;
  // A process killed above leaves the file behind; the run must remove it.
  ::close(file);
  ::unlink(name.c_str());
  if (written < 0) fail(ErrorCode::io, "cannot write so much to a file: {}", std::strerror(error));
}

/// Not a tail call: the result is used.
unsigned recurse(volatile unsigned* depth) {  // NOLINT(misc-no-recursion)
  std::array<volatile char, 4096> frame{};
  *depth = *depth + 1;
  frame[*depth % frame.size()] = 1;
  if (*depth == 0) return 0;  // Never true before the stack ends.
  return recurse(depth) + static_cast<unsigned>(frame[*depth % frame.size()]);
}

void block_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

}  // namespace

bool is_due(const PlantedFault& fault, uint64_t launch) {
  if (launch < fault.from_launch) return false;
  if (fault.once_path.empty()) return true;
  const int file = ::open(fault.once_path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (file < 0 && errno == EEXIST) return false;
  if (file < 0) fail(ErrorCode::io, "cannot make the file of a fault: {}: {}", fault.once_path, std::strerror(errno));
  ::close(file);
  return true;
}

void perform(InjectedFault fault) {
  volatile unsigned depth = 0;
  switch (fault) {
    case InjectedFault::segfault:
      return touch_a_forbidden_page();
    case InjectedFault::abort:
      std::abort();
    case InjectedFault::exit0:
      std::exit(0);
    case InjectedFault::loop:
      compute_for_ever();
    case InjectedFault::sleep:
      sleep_for_ever();
    case InjectedFault::bomb:
      return use_all_memory();
    case InjectedFault::garbage:
      return write_garbage();
    case InjectedFault::close:
      return close_all();
    case InjectedFault::stop:
      ::kill(::getpid(), SIGSTOP);
      return;
    case InjectedFault::double_fork:
      return leave_a_grandchild();
    case InjectedFault::file_limit:
      return write_beyond_the_limit();
    case InjectedFault::stack:
      recurse(&depth);
      return;
    case InjectedFault::signal_mask:
      return block_signals();
    case InjectedFault::chdir:
      std::filesystem::current_path("/");
      return;
    case InjectedFault::throws:
      throw 42;
    case InjectedFault::slow:
      ::sleep(1);
      return;
    case InjectedFault::unsupported:
      fail(ErrorCode::unavailable, "excluded from this run by a planted fault");
    case InjectedFault::breaks_device:
    case InjectedFault::by_process:
    case InjectedFault::by_batch:
    case InjectedFault::unstated:
    case InjectedFault::fast:
    case InjectedFault::scribble_inputs:
    case InjectedFault::scribble_after:
    case InjectedFault::wrong_result:
    case InjectedFault::nan:
    case InjectedFault::huge_result_time:
      break;
  }
  ATTUNE_CHECK(false, "{} is done to a plan or a launch", name(fault));
}

}  // namespace attune
