// SPDX-License-Identifier: MIT
#include "process/spawn.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/descriptor.h"
#include "base/error.h"
#include "process/blocked_signals.h"
#include "process/children.h"

/// clone() under libc's other name: ThreadSanitizer treats every clone() as a fork and would switch its state, which
/// the child shares with this process, to the child's.
extern "C" int __clone(int (*run)(void*), void* stack, int flags, void* argument, ...);

namespace attune {
namespace {

constexpr size_t kStackBytes = 64 << 10;
constexpr int kNumSignals = 64;
constexpr int kFirstInherited = 3;

/// All decisions before exec, made by the parent: until exec the child shares the parent's memory and may call only the
/// kernel.
struct Plan {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const char* folder;  ///< Null: unchanged.
  int input, output, errors;
  const int* inherited;  ///< All sources lie above all targets (DescriptorsAbove): no dup3 overwrites one to come.
  int num_inherited;
  int cgroup;  ///< −1: unchanged.
  pid_t parent;
  bool leads_group;
  std::array<std::pair<int, rlimit>, 6> limits;
  size_t num_limits = 0;
  const char* failed = nullptr;  ///< Step that failed, with `error`; written by the child.
  int error = 0;
};

/// The kernel's own layout: libc's sigaction() keeps state in the shared memory, and so do the sanitizers that replace
/// it.
struct KernelSigaction {
  void (*handler)(int);
  unsigned long flags;
  void (*restorer)();
  unsigned long mask;
};

__attribute__((no_sanitize("address", "thread", "undefined"))) int give_up(Plan& plan, const char* step, int error) {
  plan.failed = step;
  plan.error = error;
  ::syscall(SYS_exit_group, 127);
  return 127;
}

/// Linux before 5.9 has no close_range. opendir is no alternative: it allocates.
__attribute__((no_sanitize("address", "thread", "undefined"))) void close_from(int first) {
  if (::syscall(SYS_close_range, first, ~0U, 0) == 0) return;
  rlimit files{};
  ::syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &files);
  const int end = files.rlim_cur < 65536 ? static_cast<int>(files.rlim_cur) : 65536;
  for (int descriptor = first; descriptor < end; ++descriptor) ::syscall(SYS_close, descriptor);
}

/// Runs in the child, on a stack of its own, in our memory and with all signals blocked.
__attribute__((no_sanitize("address", "thread", "undefined"))) int run_child(void* argument) {
  Plan& plan = *static_cast<Plan*>(argument);
  const KernelSigaction by_default{};
  // Before signals are unblocked: a handler of the parent must not run here. exec resets handlers, but keeps ignored
  // signals.
  for (int number = 1; number <= kNumSignals; ++number)
    ::syscall(SYS_rt_sigaction, number, &by_default, nullptr, sizeof(by_default.mask));
  if (plan.leads_group) ::syscall(SYS_setpgid, 0, 0);
  ::syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  // The parent may have died before the signal was requested.
  if (::syscall(SYS_getppid) != plan.parent) return give_up(plan, "start", ECANCELED);
  if (plan.folder && ::syscall(SYS_chdir, plan.folder) != 0) return give_up(plan, "folder", errno);
  if (::syscall(SYS_dup3, plan.input, 0, 0) < 0 || ::syscall(SYS_dup3, plan.output, 1, 0) < 0 ||
      ::syscall(SYS_dup3, plan.errors, 2, 0) < 0)
    return give_up(plan, "streams", errno);
  for (int i = 0; i < plan.num_inherited; ++i)
    if (::syscall(SYS_dup3, plan.inherited[i], kFirstInherited + i, 0) < 0) return give_up(plan, "descriptors", errno);
  // `0` names the writer. Before exec, so that no page of the program is charged to the parent's cgroup.
  if (plan.cgroup >= 0 && ::syscall(SYS_write, plan.cgroup, "0", 1) != 1) return give_up(plan, "cgroup", errno);
  close_from(kFirstInherited + plan.num_inherited);
  for (size_t i = 0; i < plan.num_limits; ++i) {
    if (::syscall(SYS_prlimit64, 0, plan.limits[i].first, &plan.limits[i].second, nullptr) != 0)
      return give_up(plan, "limits", errno);
  }
  const unsigned long none = 0;
  ::syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, nullptr, sizeof(none));
  ::syscall(SYS_execve, plan.program, plan.arguments, plan.environment);
  return give_up(plan, "program", errno);
}

/// Copies of descriptors, with numbers above all targets of the child's dup3. Closed on exec and on every exit path.
class DescriptorsAbove {
 public:
  explicit DescriptorsAbove(int lowest) : lowest_(lowest) {}
  ~DescriptorsAbove() {
    for (const int descriptor : all_) ::close(descriptor);
  }
  DescriptorsAbove(const DescriptorsAbove&) = delete;
  DescriptorsAbove& operator=(const DescriptorsAbove&) = delete;

  int open(const char* path, int flags) {
    const Descriptor descriptor(::open(path, flags | O_CLOEXEC, 0600));
    if (descriptor.number() < 0)
      fail(ErrorCode::io, "cannot open a stream of a child process ({}): '{}'", std::strerror(errno), path);
    return copy(descriptor.number());
  }
  int copy(int descriptor) {
    const int result = ::fcntl(descriptor, F_DUPFD_CLOEXEC, lowest_);
    ATTUNE_CHECK(result >= 0 || errno != EBADF, "a child process cannot inherit descriptor {}, it is not open",
                 descriptor);
    if (result < 0) fail(ErrorCode::device, "too many files are open to start a process ({})", std::strerror(errno));
    all_.push_back(result);
    return result;
  }

 private:
  int lowest_;
  std::vector<int> all_;
};

/// Stack for the child's first steps; the page below it is protected.
class Stack {
 public:
  Stack()
      : memory_(::mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0)) {
    if (memory_ == MAP_FAILED) fail(ErrorCode::device, "not enough memory to start a process, end others");
    ::mprotect(memory_, 4096, PROT_NONE);
  }
  ~Stack() { ::munmap(memory_, kStackBytes); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  void* top() const noexcept { return static_cast<char*>(memory_) + kStackBytes; }

 private:
  void* memory_;
};

void add_limit(Plan& plan, int which, uint64_t soft, uint64_t hard) {
  rlimit ours{};
  ::getrlimit(static_cast<__rlimit_resource>(which), &ours);
  hard = std::min<uint64_t>(hard, ours.rlim_max);
  plan.limits[plan.num_limits++] = {which, rlimit{std::min(soft, hard), hard}};
}

void add_limits(Plan& plan, const ProcessLimits& limits) {
  add_limit(plan, RLIMIT_CORE, 0, 0);
  if (limits.address_space_bytes != 0)
    add_limit(plan, RLIMIT_AS, limits.address_space_bytes, limits.address_space_bytes);
  if (limits.file_bytes != 0) add_limit(plan, RLIMIT_FSIZE, limits.file_bytes, limits.file_bytes);
  if (limits.open_files != 0) add_limit(plan, RLIMIT_NOFILE, limits.open_files, limits.open_files);
  if (limits.data_bytes != 0) add_limit(plan, RLIMIT_DATA, limits.data_bytes, limits.data_bytes);
  if (const auto seconds = static_cast<uint64_t>(limits.cpu.count()); seconds != 0)
    add_limit(plan, RLIMIT_CPU, seconds, seconds + 1);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

SpawnResult clone_child(Plan& plan) {
  const Stack stack;
  int descriptor = -1;
  pid_t pid = -1;
  int error = 0;
  OwnedChildren& owned = OwnedChildren::instance();
  const auto birth = owned.birth();
  {
    const BlockedSignals blocked;
    pid = ::__clone(run_child, stack.top(), CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &plan, &descriptor);
    error = errno;
  }
  if (pid < 0)
    fail(ErrorCode::device, "cannot start a process ({}), end others: '{}'", std::strerror(error), plan.program);
  owned.add(pid);
  return {pid, descriptor};
}

[[noreturn]] void fail_start(const ChildCommand& command, const Plan& plan) {
  const std::string_view step = plan.failed;
  if (step == "program")
    fail(ErrorCode::unavailable, "cannot run the program ({}): '{}'", std::strerror(plan.error), plan.program);
  if (step == "folder")
    fail(ErrorCode::io, "cannot run a program in the folder ({}): '{}'", std::strerror(plan.error),
         command.folder.string());
  fail(ErrorCode::device, "cannot start a process, its {} could not be set up ({}): '{}'", step,
       std::strerror(plan.error), plan.program);
}

}  // namespace

SpawnResult spawn(const ChildCommand& command) {
  ATTUNE_CHECK(!command.arguments.empty() && command.arguments[0].starts_with('/'),
               "a command must start with an absolute path");
  std::vector<std::string> settings;
  for (const auto& [name, value] : command.environment) settings.push_back(name + '=' + value);
  const std::vector<char*> arguments = pointers(command.arguments), environment = pointers(settings);
  DescriptorsAbove descriptors(kFirstInherited + static_cast<int>(command.inherited.size()));
  std::vector<int> inherited;
  for (const int descriptor : command.inherited) inherited.push_back(descriptors.copy(descriptor));
  const auto open_output = [&](const std::filesystem::path& file) {
    return descriptors.open(file.empty() ? "/dev/null" : file.c_str(), O_WRONLY | O_CREAT | O_TRUNC);
  };
  const int output = open_output(command.output);
  Plan plan{.program = arguments[0],
            .arguments = arguments.data(),
            .environment = environment.data(),
            .folder = command.folder.empty() ? nullptr : command.folder.c_str(),
            .input = descriptors.open("/dev/null", O_RDONLY),
            .output = output,
            .errors = command.errors.empty() ? output : open_output(command.errors),
            .inherited = inherited.data(),
            .num_inherited = static_cast<int>(inherited.size()),
            .cgroup = command.cgroup < 0 ? -1 : descriptors.copy(command.cgroup),
            .parent = ::getpid(),
            .leads_group = !command.joins_group,
            .limits = {}};
  add_limits(plan, command.limits);
  const SpawnResult spawned = clone_child(plan);
  if (plan.failed) {
    ::waitpid(spawned.pid, nullptr, 0);
    OwnedChildren::instance().remove(spawned.pid);
    ::close(spawned.descriptor);
    fail_start(command, plan);
  }
  return spawned;
}

}  // namespace attune
