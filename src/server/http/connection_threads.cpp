// SPDX-License-Identifier: MIT
#include "server/http/connection_threads.h"

#include <algorithm>
#include <exception>
#include <new>

namespace attune {

bool ConnectionThreads::enqueue(std::function<void()> task) {
  const Lock lock(mutex_);
  if (num_open_ >= max_connections_ && !end_one_()) return false;
  ++num_open_;
  if (!has_thread()) {
    --num_open_;
    return false;
  }
  try {
    tasks_.push_back(std::move(task));
  } catch (const std::bad_alloc&) {
    --num_open_;
    return false;
  }
  wake_.notify_one();
  return true;
}

/// Starts a thread if there is work for one more; returns whether there is any.
bool ConnectionThreads::has_thread() {
  if (threads_.size() < std::min(num_open_, max_connections_)) {
    try {
      threads_.emplace_back([this] { work(); });
    } catch (const std::exception&) {  // The system refuses one: those that run serve the connection later.
    }
  }
  return !threads_.empty();
}

void ConnectionThreads::work() {
  Lock lock(mutex_);
  for (;;) {
    while (!is_ended_ && tasks_.empty()) wake_.wait(lock);
    if (tasks_.empty()) return;
    const auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    lock.lock();
    --num_open_;
  }
}

void ConnectionThreads::shutdown() {
  std::vector<std::thread> threads;
  {
    const Lock lock(mutex_);
    is_ended_ = true;
    threads.swap(threads_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace attune
