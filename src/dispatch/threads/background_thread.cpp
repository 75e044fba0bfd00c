// SPDX-License-Identifier: MIT
#include "dispatch/threads/background_thread.h"

#include <unistd.h>

#include <system_error>
#include <utility>

#include "base/error.h"
#include "process/blocked_signals.h"

namespace attune {
namespace {

std::atomic<int> alive{0};

}  // namespace

BackgroundThread::BackgroundThread(std::function<void()> work) : process_(::getpid()) {
  const BlockedSignals blocked;
  try {
    thread_ = std::make_unique<std::thread>([this, work = std::move(work)] {
      ++alive;
      work();
      --alive;
      is_done_ = true;
    });
  } catch (const std::system_error& error) {
    fail(ErrorCode::unavailable, "cannot start a thread ({}), raise the limit of processes", error.code().message());
  }
}

BackgroundThread::~BackgroundThread() {
  if (is_of_this_process() && thread_->get_id() == std::this_thread::get_id()) {
    thread_->detach();  // It ends the process, as its last thread.
  } else if (is_of_this_process()) {
    thread_->join();
  } else {
    // The parent's thread can be neither joined nor detached.
    [[maybe_unused]] const std::thread* leaked = thread_.release();
  }
}

bool BackgroundThread::is_of_this_process() const noexcept { return process_ == ::getpid(); }

bool BackgroundThread::wait(std::chrono::milliseconds timeout) const {
  const auto end = std::chrono::steady_clock::now() + timeout;
  while (!is_done_ && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return is_done_;
}

int BackgroundThread::num_alive() noexcept { return alive; }
void BackgroundThread::forget_all() noexcept { alive = 0; }

}  // namespace attune
