// SPDX-License-Identifier: MIT
#include "server/http/waiting_clients.h"

#include <sys/socket.h>

#include <algorithm>

namespace attune {

void WaitingClients::add(int socket) {
  const Lock lock(mutex_);
  if (is_ended_)
    ::shutdown(socket, SHUT_RDWR);
  else
    since_.try_emplace(socket, std::chrono::steady_clock::now());
}

void WaitingClients::remove(int socket) noexcept {
  const Lock lock(mutex_);
  since_.erase(socket);
}

bool WaitingClients::end_longest() noexcept {
  const Lock lock(mutex_);
  const auto longest = std::ranges::min_element(since_, {}, [](const auto& one) { return one.second; });
  if (longest == since_.end()) return false;
  ::shutdown(longest->first, SHUT_RDWR);
  since_.erase(longest);
  return true;
}

void WaitingClients::end_all() noexcept {
  const Lock lock(mutex_);
  is_ended_ = true;
  for (const auto& [socket, since] : since_) ::shutdown(socket, SHUT_RDWR);
  since_.clear();
}

}  // namespace attune
