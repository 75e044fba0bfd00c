// SPDX-License-Identifier: MIT
#include "server/http/connection_stream.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "server/http/request_head.h"

namespace attune {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

bool ConnectionStream::wait(short events, milliseconds max) const {
  pollfd one{socket_, events, 0};
  int ready = 0;
  do {
    ready = ::poll(&one, 1, static_cast<int>(max.count()));
  } while (ready < 0 && errno == EINTR);
  return ready > 0 && (one.revents & events) != 0;
}

bool ConnectionStream::is_abandoned() const { return wait(POLLRDHUP | POLLHUP | POLLERR, milliseconds(0)); }

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
  deadline_ = steady_clock::now() + limits_.request_time;
  return true;
}

/// Has at least one byte in `ahead_` that the request may take.
ReadEnd ConnectionStream::fill() {
  if (num_read_ >= limits_.max_request_bytes) return ReadEnd::too_large;
  if (!ahead_.empty()) return ReadEnd::whole;
  const auto left = duration_cast<milliseconds>(deadline_ - steady_clock::now());
  if (left.count() <= 0 || !wait(POLLIN, left)) return ReadEnd::gone;
  std::array<char, 4096> block;
  const ssize_t got = ::recv(socket_, block.data(), block.size(), 0);
  if (got <= 0) return ReadEnd::gone;
  ahead_.assign(block.data(), static_cast<size_t>(got));
  return ReadEnd::whole;
}

ReadEnd ConnectionStream::read_head(std::string& head) {
  RequestHead form;
  while (!form.is_complete()) {
    if (const ReadEnd end = fill(); end != ReadEnd::whole) return end;
    const size_t max = std::min(ahead_.size(), limits_.max_request_bytes - num_read_);
    size_t taken = 0;
    while (taken < max && !form.is_complete()) {
      if (!form.take(ahead_[taken++])) return ReadEnd::malformed;
    }
    head.append(ahead_, 0, taken);
    ahead_.erase(0, taken);
    num_read_ += taken;
  }
  return ReadEnd::whole;
}

ReadEnd ConnectionStream::read_body(size_t size, std::string& body) {
  if (size > limits_.max_request_bytes - num_read_) return ReadEnd::too_large;
  while (body.size() < size) {
    if (const ReadEnd end = fill(); end != ReadEnd::whole) return end;
    const size_t taken = std::min(ahead_.size(), size - body.size());
    body.append(ahead_, 0, taken);
    ahead_.erase(0, taken);
    num_read_ += taken;
  }
  return ReadEnd::whole;
}

bool ConnectionStream::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0)
      bytes.remove_prefix(static_cast<size_t>(sent));
    else if ((errno != EAGAIN && errno != EINTR) || !is_writable())
      return false;
  }
  return true;
}

}  // namespace attune
