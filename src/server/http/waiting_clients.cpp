// SPDX-License-Identifier: MIT
#include "server/http/waiting_clients.h"

#include <sys/socket.h>

#include <algorithm>

namespace attune {

using std::chrono::steady_clock;

void WaitingClients::add(int socket) {
  const Lock lock(mutex_);
  const auto [client, is_new] = clients_.try_emplace(socket, Client{State::waits, steady_clock::now()});
  if (is_ended_ || client->second.state == State::ends) {
    ::shutdown(socket, SHUT_RDWR);
    clients_.erase(client);
  } else if (client->second.state != State::waits) {
    client->second = {State::waits, steady_clock::now()};
  }
}

void WaitingClients::work(int socket) {
  const Lock lock(mutex_);
  const auto client = clients_.find(socket);
  // One that has made room is not there, and one that has to end stays so.
  if (client != clients_.end() && client->second.state == State::waits)
    client->second = {State::works, steady_clock::now()};
}

void WaitingClients::remove(int socket) noexcept {
  const Lock lock(mutex_);
  clients_.erase(socket);
}

WaitingClients::Clients::iterator WaitingClients::longest(State state) {
  auto found = clients_.end();
  for (auto one = clients_.begin(); one != clients_.end(); ++one) {
    if (one->second.state == state && (found == clients_.end() || one->second.since < found->second.since)) found = one;
  }
  return found;
}

bool WaitingClients::end_longest() noexcept {
  const Lock lock(mutex_);
  if (const auto waiting = longest(State::waits); waiting != clients_.end()) {
    ::shutdown(waiting->first, SHUT_RDWR);
    clients_.erase(waiting);
    return true;
  }
  const auto served = longest(State::works);
  if (served == clients_.end()) return false;
  served->second.state = State::ends;
  return true;
}

bool WaitingClients::must_end(int socket) const noexcept {
  const Lock lock(mutex_);
  const auto client = clients_.find(socket);
  return client != clients_.end() && client->second.state == State::ends;
}

void WaitingClients::end_all() noexcept {
  const Lock lock(mutex_);
  is_ended_ = true;
  for (const auto& [socket, client] : clients_) {
    if (client.state == State::waits) ::shutdown(socket, SHUT_RDWR);
  }
  std::erase_if(clients_, [](const auto& one) { return one.second.state == State::waits; });
}

}  // namespace attune
