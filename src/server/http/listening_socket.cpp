// SPDX-License-Identifier: MIT
#include "server/http/listening_socket.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <memory>
#include <string>
#include <system_error>

#include "base/error.h"

namespace attune {
namespace {

[[noreturn]] void fail_to_listen(const ListenAddress& address, const std::string& reason) {
  fail(ErrorCode::io, "the server cannot listen on {}: {}; choose another address with --listen", address.text(),
       reason);
}

/// A socket that listens on one of the addresses that a name has; the reason in errno if it cannot.
Descriptor try_to_listen(const addrinfo& one) {
  constexpr int kMaxAhead = 128;  // Clients that wait to be accepted; further ones would try again a second later.
  Descriptor made(::socket(one.ai_family, one.ai_socktype | SOCK_CLOEXEC, one.ai_protocol));
  if (made.number() < 0) return made;
  // Not SO_REUSEPORT: another program of this user could share the port.
  const int yes = 1, no = 0;
  ::setsockopt(made.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (one.ai_family == AF_INET6) ::setsockopt(made.number(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  if (::bind(made.number(), one.ai_addr, one.ai_addrlen) == 0 && ::listen(made.number(), kMaxAhead) == 0) return made;
  const int reason = errno;
  made = Descriptor();
  errno = reason;
  return made;
}

}  // namespace

Descriptor listening_socket(const ListenAddress& address) {
  addrinfo wanted{}, *found = nullptr;
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  if (const int failure = ::getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &wanted, &found))
    fail_to_listen(address, ::gai_strerror(failure));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  for (const addrinfo* one = all.get(); one != nullptr; one = one->ai_next) {
    if (Descriptor made = try_to_listen(*one); made.number() >= 0) return made;
  }
  fail_to_listen(address, std::generic_category().message(errno));
}

uint16_t port_of(const Descriptor& listening) noexcept {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (::getsockname(listening.number(), reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<const sockaddr_in&>(bound).sin_port);
}

}  // namespace attune
