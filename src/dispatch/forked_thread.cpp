// SPDX-License-Identifier: MIT
#include "dispatch/forked_thread.h"

#include <sys/stat.h>

#include <atomic>
#include <exception>
#include <utility>

#include "dispatch/background_thread.h"

namespace attune {
namespace {

std::atomic<bool> is_forked{false};  ///< This process has a thread that came through. Saves others the look.
constinit thread_local bool is_here = false;
bool has_threads = true;  ///< Of the process that forks. Under the lock of who forks.

/// What runs calls for the one thread of a process that came through its fork(): it is never asked by two at once.
class FreshThread {
 public:
  FreshThread() : thread_([this] { work(); }) {}

  void run(const std::function<void()>& call) {
    call_ = &call;
    hand_over(Turn::worker);
    wait_for(Turn::caller);
    if (const std::exception_ptr thrown = std::exchange(thrown_, nullptr)) std::rethrow_exception(thrown);
  }

 private:
  enum class Turn : uint8_t { caller, worker };

  void work() {
    for (;;) {
      wait_for(Turn::worker);
      try {
        (*call_)();
      } catch (...) {
        thrown_ = std::current_exception();
      }
      hand_over(Turn::caller);
    }
  }
  void wait_for(Turn wanted) {
    for (Turn now = turn_; now != wanted; now = turn_) turn_.wait(now);
  }
  void hand_over(Turn next) {
    turn_ = next;
    turn_.notify_one();
  }

  const std::function<void()>* call_ = nullptr;
  std::exception_ptr thrown_;
  std::atomic<Turn> turn_{Turn::caller};
  BackgroundThread thread_;  ///< The last member: it uses the others.
};

FreshThread* fresh = nullptr;  ///< Of this process; never ended, as the process may end in a call of it.

}  // namespace

bool came_through_fork() noexcept { return is_forked.load(std::memory_order_relaxed) && is_here; }

void run_with_pools(const std::function<void()>& call) {
  if (!came_through_fork()) {
    call();
    return;
  }
  if (fresh == nullptr) fresh = new FreshThread;
  fresh->run(call);
}

void look_for_threads() noexcept {
  // A folder has a link of each folder in it, here one of each thread, and two of its own.
  struct stat status {};
  const bool is_known = ::stat("/proc/self/task", &status) == 0 && status.st_nlink > 2;
  has_threads = !is_known || static_cast<int>(status.st_nlink) - 2 > 1 + BackgroundThread::num_alive();
}

void remember_fork() noexcept {
  fresh = nullptr;  // The parent's, if there was one.
  BackgroundThread::forget_all();
  if (!has_threads) return;
  is_here = true;
  is_forked = true;
}

}  // namespace attune
