// SPDX-License-Identifier: MIT
#include "server/http/connection_stream.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace attune {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

bool ConnectionStream::wait(short events, milliseconds most) const {
  pollfd one{socket_, events, 0};
  int ready = 0;
  do {
    ready = ::poll(&one, 1, static_cast<int>(most.count()));
  } while (ready < 0 && errno == EINTR);
  return ready > 0 && (one.revents & events) != 0;
}

bool ConnectionStream::is_writable() const {
  if (wait(POLLOUT, milliseconds(0))) return true;
  waiting_.add(socket_);
  const bool is_ready = wait(POLLOUT, limits_.write_time);
  leave_waiting();
  return is_ready;
}

void ConnectionStream::leave_waiting() const {
  if (num_requests_ > 1)
    waiting_.work(socket_);  // Requests that are sent ahead could keep the server at work for a minute.
  else
    waiting_.remove(socket_);
}

bool ConnectionStream::begin_request(const std::function<bool()>& is_ended) {
  constexpr milliseconds kLook{200};  // How late the end of the server is seen.
  if (must_end()) return false;
  waiting_.add(socket_);
  const auto end = steady_clock::now() + limits_.idle_time;
  while (ahead_.empty() && !wait(POLLIN, kLook)) {
    if (is_ended() || steady_clock::now() >= end) return false;
  }
  ++num_requests_;
  num_read_ = 0;
  is_read_ = is_malformed_ = has_answered_ = false;
  head_ = {};
  deadline_ = steady_clock::now() + limits_.request_time;
  return true;
}

// The library asks for one byte at a time while it reads headers.
ssize_t ConnectionStream::read(char* bytes, size_t size) {
  if (is_malformed_) return -1;
  if (ahead_.empty()) {
    const auto left = duration_cast<milliseconds>(deadline_ - steady_clock::now());
    if (num_read_ >= limits_.max_request_bytes || left.count() <= 0 || !wait(POLLIN, left)) {
      must_close = true;
      return -1;
    }
    std::array<char, 4096> block;
    const ssize_t got = ::recv(socket_, block.data(), block.size(), 0);
    if (got <= 0) return got;
    ahead_.assign(block.data(), static_cast<size_t>(got));
  }
  const size_t left = limits_.max_request_bytes - std::min(num_read_, limits_.max_request_bytes);
  const size_t taken = std::min({size, ahead_.size(), left});
  if (taken == 0) {
    must_close = true;
    return -1;
  }
  is_malformed_ = !std::all_of(ahead_.begin(), ahead_.begin() + static_cast<std::ptrdiff_t>(taken),
                               [&](char byte) { return head_.take(byte); });
  if (is_malformed_) {
    must_close = true;
    return -1;
  }
  std::copy_n(ahead_.begin(), taken, bytes);
  ahead_.erase(0, taken);
  num_read_ += taken;
  return static_cast<ssize_t>(taken);
}

ssize_t ConnectionStream::write(const char* bytes, size_t size) {
  for (;;) {
    const ssize_t sent = ::send(socket_, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    has_answered_ |= sent > 0;
    if (sent >= 0 || (errno != EAGAIN && errno != EINTR)) return sent;
    if (!is_writable()) return -1;
  }
}

}  // namespace attune
