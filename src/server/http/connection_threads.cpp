// SPDX-License-Identifier: MIT
#include "server/http/connection_threads.h"

#include <algorithm>

namespace attune {

thread_local bool ConnectionThreads::is_refusal_ = false;

void ConnectionThreads::enqueue(std::function<void()> task) {
  {
    const Lock lock(mutex_);
    if (num_open_ < max_connections_ || end_one_()) {
      ++num_open_;
      tasks_.push_back(std::move(task));
      if (threads_.size() < std::min(num_open_, max_connections_)) threads_.emplace_back([this] { work(); });
      wake_.notify_one();
      return;
    }
  }
  is_refusal_ = true;
  task();
  is_refusal_ = false;
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
