// SPDX-License-Identifier: MIT
#include "tuner/problem/search_thread.h"

#include <algorithm>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace attune {

SearchThread::~SearchThread() {
  if (!thread_.joinable()) return;
  {
    const Lock lock(mutex_);
    is_ending_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void SearchThread::begin(PriorKnowledge known) {
  add([this, known = std::move(known)] { search_.begin(known); });
}

void SearchThread::ask(size_t num_in_all) {
  add([this, num_in_all] {
    if (num_asked_ >= num_in_all) return;
    auto asked = search_.ask(num_in_all - num_asked_);
    num_asked_ += asked.size();
    const Lock lock(mutex_);
    std::ranges::move(asked, std::back_inserter(found_));
  });
}

void SearchThread::tell(const Candidate& candidate, const Trial& trial) {
  add([this, candidate, trial] { search_.tell(candidate, trial); });
}

std::vector<Candidate> SearchThread::take() {
  const Lock lock(mutex_);
  throw_error();
  return std::exchange(found_, {});
}

void SearchThread::wait() {
  Lock lock(mutex_);
  while (!calls_.empty()) changed_.wait(lock);
  throw_error();
}

void SearchThread::add(std::function<void()> call) {
  if (!beside_) return call();
  {
    const Lock lock(mutex_);
    throw_error();
    calls_.push_back(std::move(call));
  }
  try {
    if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    fail(ErrorCode::io, "the system refuses a thread for the search ({})", error.code().message());
  }
  changed_.notify_all();
}

/// Main loop of the thread. After an error it drops the queued calls, because they build on the one that failed.
void SearchThread::run() {
  Lock lock(mutex_);
  while (true) {
    while (calls_.empty() && !is_ending_) changed_.wait(lock);
    if (is_ending_) return;
    const std::function<void()> call = std::move(calls_.front());
    lock.unlock();
    std::exception_ptr error;
    try {
      call();
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    calls_.pop_front();
    if (error) {
      error_ = error;
      calls_.clear();
    }
    changed_.notify_all();
  }
}

void SearchThread::throw_error() {
  if (error_) std::rethrow_exception(error_);
}

}  // namespace attune
