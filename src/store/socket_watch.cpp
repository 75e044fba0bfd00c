// SPDX-License-Identifier: MIT
#include "store/socket_watch.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <filesystem>
#include <system_error>

#include "base/clock.h"
#include "base/text.h"

namespace attune {
namespace {

/// Sockets of this process with a named peer, as clients have them.
std::set<int> client_sockets() {
  std::set<int> all;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd", error)) {
    const auto number = parse_int(entry.path().filename().string());
    if (!number) continue;
    sockaddr_storage peer{};
    socklen_t size = sizeof(peer);
    if (::getpeername(static_cast<int>(*number), reinterpret_cast<sockaddr*>(&peer), &size) != 0) continue;
    const bool is_named = peer.ss_family != AF_UNIX || size > offsetof(sockaddr_un, sun_path);
    if (is_named) all.insert(static_cast<int>(*number));
  }
  return all;
}

/// A thread that runs no handler of a signal starts within it.
class AllSignalsBlocked {
 public:
  AllSignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~AllSignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  AllSignalsBlocked(const AllSignalsBlocked&) = delete;
  AllSignalsBlocked& operator=(const AllSignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

SocketWatch::Deadline::Deadline(SocketWatch& watch, double limit_s) : watch_(watch) {
  watch_.deadline_s_ = steady_clock().now_s() + limit_s;
}

SocketWatch::~SocketWatch() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  forget();
}

void SocketWatch::connect(double limit_s, const std::function<void()>& open) {
  static constinit Mutex one_at_a_time;
  const Lock alone(one_at_a_time);
  start();
  forget();
  {
    const Lock lock(mutex_);
    before_ = client_sockets();
    is_connecting_ = true;
  }
  try {
    call(limit_s, open);
  } catch (...) {
    {
      const Lock lock(mutex_);
      is_connecting_ = false;
    }
    forget();
    throw;
  }
  const Lock lock(mutex_);
  is_connecting_ = false;
  keep_new_sockets();
}

void SocketWatch::forget() noexcept {
  const Lock lock(mutex_);
  for (const int socket : sockets_) ::close(socket);
  sockets_.clear();
}

void SocketWatch::start() {
  if (thread_.joinable()) return;
  const AllSignalsBlocked blocked;
  thread_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
}

void SocketWatch::watch(const std::stop_token& stop) {
  constexpr std::chrono::milliseconds kLook{500};
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    wake_.wait_for(lock, stop, kLook, [] { return false; });
    if (steady_clock().now_s() < deadline_s_) continue;
    deadline_s_ = kNone;
    shut_down();
  }
}

void SocketWatch::keep_new_sockets() {
  for (const int socket : client_sockets()) {
    if (before_.contains(socket)) continue;
    if (const int own = ::fcntl(socket, F_DUPFD_CLOEXEC, 3); own >= 0) sockets_.push_back(own);
  }
}

void SocketWatch::shut_down() {
  if (is_connecting_) keep_new_sockets();
  for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
}

}  // namespace attune
