// SPDX-License-Identifier: MIT
#include "dispatch/threads/forked_thread.h"

#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <sys/stat.h>

#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <utility>

#include "dispatch/threads/background_thread.h"

/// Argument of __tls_get_addr() (the psABI's tls_index; no glibc header declares it).
struct TlsIndex {
  size_t module, offset;
};
extern "C" void* __tls_get_addr(TlsIndex* index);

namespace attune {
namespace {

std::atomic<bool> is_forked{false};  ///< Whether a thread of this process survived a fork(); a fast check.
constinit thread_local bool is_here = false;
bool has_threads = true;  ///< Whether the forking process has other threads than ours. Guarded by the fork lock.

/// Runs calls for the one thread that survived the process's fork(); hence never for two callers at once.
class FreshThread {
 public:
  FreshThread() : thread_([this] { work(); }) {}
  ~FreshThread() { hand_over(Turn::nobody); }

  void run(const std::function<void()>& call) {
    call_ = &call;
    hand_over(Turn::worker);
    wait_for(Turn::caller);
    if (const std::exception_ptr thrown = std::exchange(thrown_, nullptr)) std::rethrow_exception(thrown);
  }

 private:
  enum class Turn : uint8_t { caller, worker, nobody };

  void work() {
    while (wait_for(Turn::worker)) {
      try {
        (*call_)();
      } catch (...) {
        thrown_ = std::current_exception();
      }
      hand_over(Turn::caller);
    }
  }
  /// Returns false when there is no more work.
  bool wait_for(Turn wanted) {
    for (Turn now = turn_; now != wanted; now = turn_) {
      if (now == Turn::nobody) return false;
      turn_.wait(now);
    }
    return true;
  }
  void hand_over(Turn next) {
    turn_ = next;
    turn_.notify_one();
  }

  const std::function<void()>* call_ = nullptr;
  std::exception_ptr thrown_;
  std::atomic<Turn> turn_{Turn::caller};
  BackgroundThread thread_;  ///< The last member, because it uses the others.
};

/// Ends with the thread that it works for: otherwise it would keep a process alive whose last thread returns.
thread_local constinit FreshThread* fresh_thread = nullptr;
struct FreshThreadEnd {
  ~FreshThreadEnd() { delete std::exchange(fresh_thread, nullptr); }  // A later destructor may call once more.
};

/// Finds the calling thread's keys that hold libgomp's state, of all loaded copies of libgomp, so that the child can
/// clear them. Otherwise the thread would wait for its team when it ends. A key's value points into libgomp's own
/// thread-local data.
class TeamKeys {
 public:
  void search_all() noexcept {
    num_keys_ = num_modules_ = 0;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* self) {
          static_cast<TeamKeys*>(self)->add(*info);
          return 0;
        },
        this);
    for (size_t i = 0; i < num_modules_; ++i) search(modules_[i]);
  }
  void forget() const noexcept {
    for (size_t i = 0; i < num_keys_; ++i) ::pthread_setspecific(keys_[i], nullptr);
  }

 private:
  struct Module {
    size_t number = 0, bytes = 0;  ///< Number and size of its thread-local data.
  };

  void add(const dl_phdr_info& info) noexcept {
    if (num_modules_ == modules_.size() || std::strstr(info.dlpi_name, "libgomp") == nullptr) return;
    for (size_t i = 0; i < info.dlpi_phnum; ++i) {
      if (info.dlpi_phdr[i].p_type == PT_TLS)
        modules_[num_modules_++] = {info.dlpi_tls_modid, info.dlpi_phdr[i].p_memsz};
    }
  }
  void search(const Module& module) noexcept {
    // dlpi_tls_data omits data that its library accesses without asking the loader.
    TlsIndex index{module.number, 0};
    const auto* const begin = static_cast<const char*>(__tls_get_addr(&index));
    for (pthread_key_t key = 0; key < PTHREAD_KEYS_MAX && num_keys_ < keys_.size(); ++key) {
      const auto* const value = static_cast<const char*>(::pthread_getspecific(key));
      if (value >= begin && value < begin + module.bytes) keys_[num_keys_++] = key;
    }
  }

  std::array<Module, 4> modules_{};
  std::array<pthread_key_t, 8> keys_{};
  size_t num_modules_ = 0, num_keys_ = 0;
};
TeamKeys team_keys;  ///< Guarded by the fork lock.

}  // namespace

bool came_through_fork() noexcept { return is_forked.load(std::memory_order_relaxed) && is_here; }

void run_with_pools(const std::function<void()>& call) {
  if (!came_through_fork()) {
    call();
    return;
  }
  if (fresh_thread == nullptr) {
    thread_local const FreshThreadEnd end;
    static_cast<void>(end);
    fresh_thread = new FreshThread;
  }
  fresh_thread->run(call);
}

void detect_threads() noexcept {
  // A folder has one link per subfolder (here one per thread) and two of its own.
  struct stat status {};
  const bool is_known = ::stat("/proc/self/task", &status) == 0 && status.st_nlink > 2;
  has_threads = !is_known || static_cast<int>(status.st_nlink) - 2 > 1 + BackgroundThread::num_alive();
  if (has_threads) team_keys.search_all();
}

void remember_fork() noexcept {
  fresh_thread = nullptr;  // Belongs to the parent, if it exists.
  BackgroundThread::forget_all();
  if (!has_threads) return;
  team_keys.forget();
  is_here = true;
  is_forked = true;
}

}  // namespace attune
