// SPDX-License-Identifier: MIT
#include "dispatch/threads/fork_guard.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <thread>

#include "attune/error.h"
#include "dispatch/plans/library_plan.h"
#include "dispatch/threads/forked_thread.h"
#include "dispatch/threads/library_use.h"

namespace attune {
namespace {

using std::chrono::milliseconds;

/// Runs `look` in a child and returns its exit status; 0: `look` returned true. An alarm kills a hanging child.
int status_of_child(const std::function<bool()>& look) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    ::_exit(look() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

/// A thread that stays inside `be` until the object ends.
class Elsewhere {
 public:
  explicit Elsewhere(const std::function<void(const std::function<void()>&)>& be) {
    thread_ = std::thread([this, be] {
      be([this] {
        is_there_ = true;
        while (!leave_) std::this_thread::sleep_for(std::chrono::microseconds(50));
      });
    });
    while (!is_there_) std::this_thread::yield();
  }
  ~Elsewhere() {
    leave_ = true;
    thread_.join();
  }
  void leave() { leave_ = true; }

 private:
  std::atomic<bool> is_there_{false}, leave_{false};
  std::thread thread_;
};

TEST(ForkGuard, a_child_finds_the_locks_open_though_another_thread_held_them) {
  DispatchLog log;
  ForkGuard guard(log);
  auto maker = std::make_unique<Elsewhere>([&](const auto& stay) {
    const Lock lock(guard);
    stay();
  });
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(5));
    maker->leave();
  });
  EXPECT_EQ(status_of_child([&] {
              const Lock lock(guard);
              log.lock();
              log.unlock();
              return guard.is_in_child();
            }),
            0);
  EXPECT_FALSE(guard.is_in_child());
  later.join();
}

TEST(ForkGuard, a_fork_waits_until_no_other_thread_is_in_a_library) {
  ForkGuard::prepare();
  std::atomic<bool> is_out{false};
  auto user = std::make_unique<Elsewhere>([&](const auto& stay) {
    {
      const LibraryUse use;
      stay();
      is_out = true;
    }
  });
  std::thread later([&] {
    std::this_thread::sleep_for(milliseconds(5));
    user->leave();
  });
  EXPECT_EQ(status_of_child([&] {
              const LibraryUse use;
              return is_out.load();
            }),
            0);
  later.join();
}

TEST(ForkGuard, a_thread_that_forks_does_not_wait_for_itself) {
  ForkGuard::prepare();
  const LibraryUse use, again;
  EXPECT_EQ(status_of_child([] {
              const LibraryUse inner;
              return true;
            }),
            0);
}

/// Records which thread ran it.
class ThreadPlan final : public Plan {
 public:
  explicit ThreadPlan(std::thread::id& ran) : ran_(ran) {}
  const PlanTraits& traits() const noexcept override { return traits_; }
  void run(const Launch& launch) const override {
    if (launch.workspace != nullptr) throw Error(ErrorCode::device, "refused");
    ran_ = std::this_thread::get_id();
  }

 private:
  std::thread::id& ran_;
  PlanTraits traits_;
};

TEST(LibraryPlan, runs_in_the_calling_thread) {
  std::thread::id ran;
  const auto plan = library_plan(std::make_unique<ThreadPlan>(ran));
  plan->run({});
  EXPECT_EQ(ran, std::this_thread::get_id());
}

TEST(LibraryPlan, a_thread_that_came_through_fork_has_another_run_it) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer takes no threads that are started in a child of a process with threads";
#endif
  ForkGuard::prepare();
  std::thread::id ran;
  const auto plan = library_plan(std::make_unique<ThreadPlan>(ran));
  const Elsewhere other([](const auto& stay) { stay(); });
  EXPECT_FALSE(came_through_fork());
  EXPECT_EQ(status_of_child([&] {
              plan->run({});
              const auto first = ran;
              plan->run({});
              const bool is_another = came_through_fork() && first != std::this_thread::get_id() && first == ran;
              bool is_own = false;
              std::thread([&] {
                plan->run({});
                is_own = !came_through_fork() && ran == std::this_thread::get_id();
              }).join();
              return is_another && is_own;
            }),
            0);
}

TEST(LibraryPlan, what_a_run_throws_in_another_thread_is_thrown_to_the_caller) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer takes no threads that are started in a child of a process with threads";
#endif
  ForkGuard::prepare();
  std::thread::id ran;
  const auto plan = library_plan(std::make_unique<ThreadPlan>(ran));
  const Elsewhere other([](const auto& stay) { stay(); });
  EXPECT_EQ(status_of_child([&] {
              try {
                plan->run({.operands = {}, .workspace = &ran, .stream = nullptr});
              } catch (const Error& error) {
                return error.code() == ErrorCode::device;
              }
              return false;
            }),
            0);
}

TEST(LibraryPlan, a_process_without_other_threads_forks_children_that_need_none) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer has a thread of its own in every process";
#endif
  // In a process of its own: libraries that other tests have opened leave threads behind.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        ForkGuard::prepare();
        ::_exit(status_of_child([] { return !came_through_fork(); }));
      },
      testing::ExitedWithCode(0), "");
}

TEST(LibraryUse, when_the_process_ends_who_ends_it_waits_for_the_others_and_goes_on) {
  ForkGuard::prepare();
  EXPECT_EQ(status_of_child([] {
              std::atomic<bool> is_out{false};
              Elsewhere user([&](const auto& stay) {
                const LibraryUse use;
                stay();
                is_out = true;
              });
              std::thread later([&] {
                std::this_thread::sleep_for(milliseconds(5));
                user.leave();
              });
              LibraryUse::close_for_exit();
              const LibraryUse own;  // The thread that ends the process may go on.
              later.join();
              return is_out.load();
            }),
            0);
}

}  // namespace
}  // namespace attune
