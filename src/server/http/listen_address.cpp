// SPDX-License-Identifier: MIT
#include "server/http/listen_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"

namespace attune {
namespace {

[[noreturn]] void fail_address(std::string_view text) {
  fail(ErrorCode::invalid_input, "an address is host:port, as 127.0.0.1:8080 or [::1]:8080, got '{}'", text);
}

uint16_t parse_port(std::string_view port, std::string_view text) {
  constexpr int64_t kMaxPort = 65535;
  const auto number = parse_int(port);
  if (!number || *number < 0 || *number > kMaxPort) fail_address(text);
  return static_cast<uint16_t>(*number);
}

bool is_host(std::string_view host) {
  constexpr size_t kMaxHost = 253;    // RFC 1035
  if (parse_int(host)) return false;  // A port whose colon was forgotten.
  return !host.empty() && host.size() <= kMaxHost && std::ranges::all_of(host, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
           c == ':';
  });
}

}  // namespace

bool ListenAddress::is_loopback() const {
  if (to_lower(host) == "localhost") return true;
  std::array<unsigned char, sizeof(in6_addr)> address{};
  if (::inet_pton(AF_INET, host.c_str(), address.data()) == 1) return address[0] == 127;
  constexpr size_t kLast = sizeof(in6_addr) - 1;
  return ::inet_pton(AF_INET6, host.c_str(), address.data()) == 1 && address[kLast] == 1 &&
         std::all_of(address.begin(), address.begin() + kLast, [](unsigned char byte) { return byte == 0; });
}

bool ListenAddress::is_any() const {
  std::array<unsigned char, sizeof(in6_addr)> address{};
  const bool is_address = ::inet_pton(AF_INET, host.c_str(), address.data()) == 1 ||
                          ::inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
  return is_address && std::ranges::all_of(address, [](unsigned char byte) { return byte == 0; });
}

std::string ListenAddress::text() const {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

ListenAddress parse_listen_address(std::string_view text) {
  ListenAddress address;
  std::string_view host = text, port;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) fail_address(text);
    host = text.substr(1, end - 1);
    port = text.substr(end + 1);
    if (host.find(':') == std::string_view::npos || (!port.empty() && !port.starts_with(':'))) fail_address(text);
    if (!port.empty()) port.remove_prefix(1);
  } else if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    port = text.substr(colon + 1);
    if (port.empty() || port.find(':') != std::string_view::npos) fail_address(text);
  }
  const bool is_port_alone = host.empty() && !port.empty();
  if (!is_port_alone && !is_host(host)) fail_address(text);
  if (!is_port_alone) address.host = host;
  if (!port.empty()) address.port = parse_port(port, text);
  return address;
}

}  // namespace attune
