// SPDX-License-Identifier: MIT
#include "device/host/thread_watch.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <thread>

#include "base/machine.h"

namespace attune {
namespace {

using namespace std::chrono_literals;

// OpenBLAS (OPENBLAS_THREAD_TIMEOUT=20) and libgomp (GOMP_SPINCOUNT=10000) spin for less than this.
constexpr auto kPause = 400us;
constexpr auto kPoll = 100us;
constexpr auto kLongestRest = 5ms;
constexpr std::chrono::nanoseconds kWorks = 2ms;  // processor time within kLongestRest

pid_t this_thread() noexcept { return static_cast<pid_t>(syscall(SYS_gettid)); }

/// Fields of /proc/<pid>/task/<tid>/schedstat. The time on the processor is ignored: the kernel updates it only at
/// ticks (4 ms), while delays and runs are counted when the thread gets its processor.
struct Schedule {
  uint64_t delay_ns = 0;
  uint64_t runs = 0;
};

}  // namespace

struct ThreadWatch::Thread {
  explicit Thread(pid_t thread) : id(thread) {
    const std::string folder = "/proc/self/task/" + std::to_string(id);
    schedstat = open((folder + "/schedstat").c_str(), O_RDONLY | O_CLOEXEC);
    stat = open((folder + "/stat").c_str(), O_RDONLY | O_CLOEXEC);
  }
  ~Thread() {
    if (schedstat >= 0) close(schedstat);
    if (stat >= 0) close(stat);
  }
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  /// Empty when the thread has ended or the kernel does not count.
  std::optional<Schedule> schedule() const {
    std::array<char, 128> text;
    const ssize_t size = schedstat < 0 ? -1 : pread(schedstat, text.data(), text.size() - 1, 0);
    if (size <= 0) return std::nullopt;
    text[static_cast<size_t>(size)] = 0;
    char* at = text.data();
    std::strtoull(at, &at, 10);
    Schedule read;
    read.delay_ns = std::strtoull(at, &at, 10);
    read.runs = std::strtoull(at, &at, 10);
    return read;
  }

  /// Whether the thread is on a processor or waiting for one. The state in `stat` is up to date.
  bool runs_now() const {
    std::array<char, 256> text;
    const ssize_t size = stat < 0 ? -1 : pread(stat, text.data(), text.size() - 1, 0);
    if (size <= 0) return false;
    text[static_cast<size_t>(size)] = 0;
    const char* name_end = std::strrchr(text.data(), ')');  // a thread's name may itself contain brackets
    return name_end != nullptr && name_end[1] == ' ' && name_end[2] == 'R';
  }

  /// Its processor time up to now; zero after its end.
  std::chrono::nanoseconds computed() const {
    // The per-thread variant of the clock that clock_getcpuclockid(3) returns for a process.
    constexpr clockid_t kOfThread = 6;
    timespec time{};
    clock_gettime(static_cast<clockid_t>(~static_cast<unsigned>(id) << 3) | kOfThread, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
  }

  pid_t id;
  std::chrono::nanoseconds computed_before{0};
  int schedstat = -1, stat = -1;
  std::optional<std::string> pool;  ///< Empty until the thread has been seen to run.
  size_t place = 0;                 ///< Number within the pool, from 1; the caller has place 0.
  uint64_t runs_before = 0;         ///< Runs at settle(pool, false).
  uint64_t delay_before_ns = 0;     ///< Delay at begin().
  bool watched = false;
};

ThreadWatch::ThreadWatch(std::vector<int> cores) : cores_(std::move(cores)) {
  folder_ = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  caller_ = std::make_unique<Thread>(this_thread());
  const auto schedule = caller_->schedule();
  has_schedstat_ = schedule && schedule->runs > 0;  // all zero: built in but switched off
  refresh();
}

ThreadWatch::~ThreadWatch() {
  if (!cores_before_.empty()) {
    refresh();
    pin(caller_->id, cores_before_);
    for (const auto& thread : threads_) {
      if (thread->pool) pin(thread->id, cores_before_);
    }
  }
  if (folder_ >= 0) close(folder_);
}

void ThreadWatch::settle(std::string_view pool, bool settled) {
  if (cores_before_.empty()) cores_before_ = allowed_cores();
  if (const pid_t now = this_thread(); now != caller_->id) caller_ = std::make_unique<Thread>(now);
  if (!settled) {
    const bool other_pool = pool != pool_;
    pool_ = pool;
    refresh();
    others_ran_ = other_pool && !rest();
    for (const auto& thread : threads_) {
      if (!thread->pool) thread->runs_before = thread->schedule().value_or(Schedule{}).runs;
    }
    pin(caller_->id, cores_);
    return;
  }
  refresh();
  if (!pool_.empty()) {
    for (const auto& thread : threads_) {
      if (!thread->pool && thread->schedule().value_or(Schedule{}).runs > thread->runs_before) assign(*thread, pool_);
    }
  }
  pin(caller_->id, std::span(cores_).first(1));
}

void ThreadWatch::begin_watch() {
  for (const auto& thread : threads_) {
    thread->watched = false;
    if (thread->pool != pool_) continue;
    const auto schedule = thread->schedule();
    thread->watched = schedule.has_value();
    thread->delay_before_ns = schedule.value_or(Schedule{}).delay_ns;
  }
  caller_->delay_before_ns = caller_->schedule().value_or(Schedule{}).delay_ns;
  begin_ = std::chrono::steady_clock::now();
}

Disturbance ThreadWatch::end_watch() {
  const auto elapsed = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin_).count();
  if (!has_schedstat_) return {};
  uint64_t longest_ns = 0;
  const auto look = [&](const Thread& thread) {
    const auto schedule = thread.schedule();
    if (schedule && schedule->delay_ns > thread.delay_before_ns) {
      longest_ns = std::max(longest_ns, schedule->delay_ns - thread.delay_before_ns);
    }
  };
  look(*caller_);
  for (const auto& thread : threads_) {
    if (thread->watched) look(*thread);
  }
  return {elapsed > 0 ? static_cast<double>(longest_ns) / elapsed : 0};
}

std::optional<int> ThreadWatch::core_of(pid_t thread, ReadAffinity read) const {
  const std::vector<int> cores = cores_of_thread(thread, read);
  return cores.size() == 1 ? std::optional(cores.front()) : std::nullopt;
}

/// Updates the list of threads: one getdents call unless threads were created or ended.
void ThreadWatch::refresh() {
  if (folder_ < 0 || lseek(folder_, 0, SEEK_SET) != 0) return;
  std::vector<pid_t> present;
  alignas(8) std::array<char, 8192> entries;
  while (true) {
    const long size = syscall(SYS_getdents64, folder_, entries.data(), entries.size());
    if (size <= 0) break;
    for (long at = 0; at < size;) {
      // struct linux_dirent64: inode (8), offset (8), record length (2), type (1), name.
      uint16_t length = 0;
      std::memcpy(&length, entries.data() + at + 16, sizeof length);
      const auto id = static_cast<pid_t>(std::strtol(entries.data() + at + 19, nullptr, 10));
      if (id > 0 && id != caller_->id) present.push_back(id);
      at += length;
    }
  }
  std::sort(present.begin(), present.end());
  if (std::equal(present.begin(), present.end(), threads_.begin(), threads_.end(),
                 [](pid_t id, const auto& thread) { return id == thread->id; })) {
    return;
  }
  std::vector<std::unique_ptr<Thread>> updated;
  for (const pid_t id : present) {
    const auto known =
        std::find_if(threads_.begin(), threads_.end(), [&](const auto& thread) { return thread && thread->id == id; });
    updated.push_back(known != threads_.end() ? std::move(*known) : std::make_unique<Thread>(id));
  }
  threads_ = std::move(updated);
}

bool ThreadWatch::others_run() const {
  return std::any_of(threads_.begin(), threads_.end(), [](const auto& thread) { return thread->runs_now(); });
}

bool ThreadWatch::await_rest() {
  refresh();
  return rest();
}

/// On a busy machine a thread that is about to sleep may wait for its core much longer than the wait here, and disturbs
/// nothing. So only its processor time shows that it still works.
bool ThreadWatch::rest() {
  if (!others_run()) return true;
  const auto give_up = std::chrono::steady_clock::now() + kLongestRest;
  for (const auto& thread : threads_) thread->computed_before = thread->computed();
  std::this_thread::sleep_for(kPause);
  while (others_run()) {
    if (std::chrono::steady_clock::now() >= give_up) {
      return std::none_of(threads_.begin(), threads_.end(), [](const auto& thread) {
        return thread->runs_now() && thread->computed() - thread->computed_before >= kWorks;
      });
    }
    std::this_thread::sleep_for(kPoll);
  }
  return true;
}

void ThreadWatch::assign(Thread& thread, const std::string& pool) {
  // The lowest free place: libgomp ends threads when a team shrinks, and their successors get their cores.
  size_t place = 1;
  const auto taken = [&] {
    return std::any_of(threads_.begin(), threads_.end(),
                       [&](const auto& other) { return other->pool == pool && other->place == place; });
  };
  while (taken()) ++place;
  thread.pool = pool;
  thread.place = place;
  pin(thread.id, std::span(cores_).subspan(place % cores_.size(), 1));
}

void ThreadWatch::pin(pid_t thread, std::span<const int> cores) const {
  // A refusal (a sandbox, a reduced cpuset) costs precision, not correctness: samples become dirty.
  static_cast<void>(bind_thread(thread, cores));
}

}  // namespace attune
