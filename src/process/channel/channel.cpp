// SPDX-License-Identifier: MIT
#include "process/channel/channel.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "base/error.h"

namespace attune {

ChannelPair::ChannelPair() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    fail(ErrorCode::device, "cannot create a channel to a process ({}), close other programs", std::strerror(errno));
  ours = Descriptor(ends[0]);
  theirs = Descriptor(ends[1]);
  ::fcntl(ours.number(), F_SETFL, O_NONBLOCK);
}

void ChannelEnd::send(const Frame& frame) {
  ATTUNE_CHECK(unsent_.empty(), "a channel sends one frame at a time");
  unsent_ = encode_frame(frame);
}

void ChannelEnd::write() {
  const ssize_t sent = ::send(descriptor(), unsent_.data(), unsent_.size(), MSG_NOSIGNAL);
  if (sent > 0) unsent_.erase(0, static_cast<size_t>(sent));
  // A child closes its end only by dying, which poll() reports next.
  if (sent < 0 && errno == EPIPE) unsent_.clear();
}

bool ChannelEnd::read() {
  for (;;) {
    const ssize_t got = ::read(descriptor(), bytes_.data(), bytes_.size());
    if (got > 0)
      reader_.feed({bytes_.data(), static_cast<size_t>(got)});
    else if (got == 0)
      return false;
    else if (errno != EINTR)
      return errno == EAGAIN;
  }
}

bool is_channel(int descriptor) noexcept {
  const auto option = [&](int name) {
    int value = -1;
    socklen_t bytes = sizeof value;
    return ::getsockopt(descriptor, SOL_SOCKET, name, &value, &bytes) == 0 ? value : -1;
  };
  sockaddr_storage peer{};
  socklen_t bytes = sizeof peer;
  return option(SO_DOMAIN) == AF_UNIX && option(SO_TYPE) == SOCK_STREAM &&
         ::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &bytes) == 0;
}

std::optional<Frame> InheritedChannel::read() {
  for (;;) {
    if (auto frame = reader_.next()) return frame;
    const ssize_t got = ::read(descriptor_, bytes_.data(), bytes_.size());
    if (got > 0)
      reader_.feed({bytes_.data(), static_cast<size_t>(got)});
    else if (got == 0 || errno != EINTR)
      return std::nullopt;
  }
}

bool InheritedChannel::write(const Frame& frame) {
  const std::string bytes = encode_frame(frame);
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t sent = ::send(descriptor_, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (sent > 0)
      at += static_cast<size_t>(sent);
    else if (errno != EINTR)
      return false;
  }
  return true;
}

}  // namespace attune
