// SPDX-License-Identifier: MIT
#include "solver/threads/new_threads.h"

#include <pthread.h>

#include <csignal>
#include <new>
#include <vector>

#include "base/mutex.h"

namespace attune {
namespace {

void* wait_for(void* gate) {
  const Lock lock(*static_cast<Mutex*>(gate));
  return nullptr;
}

}  // namespace

bool can_start_threads(size_t count) noexcept {
  // The application's signals are not for these threads.
  sigset_t all, before;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return false;
  bool is_refused = false;
  try {
    std::vector<pthread_t> started;
    started.reserve(count);
    Mutex gate;
    {
      const Lock closed(gate);
      while (!is_refused && started.size() < count) {
        pthread_t one{};
        is_refused = pthread_create(&one, nullptr, wait_for, &gate) != 0;
        if (!is_refused) started.push_back(one);
      }
    }
    for (const pthread_t one : started) pthread_join(one, nullptr);
  } catch (const std::bad_alloc&) {
    is_refused = true;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return !is_refused;
}

}  // namespace attune
